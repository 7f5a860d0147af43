#!/usr/bin/env bash
# rung stat: what it says of a process is what the process says of itself; and what it says when it cannot.
# A test is started as: bash stat.sh RUNG LIBRUNG TARGET TARGET_LINKED_STATICALLY LIAR
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
librung=$2 target=$3 static_target=$4 liar=$5
pid=

# start COMMAND...: in the background; $pid is its process, $said what it wrote up to a line "end" or "ready"
start() {
  coproc running { exec env "$@" 2>"$tmp/target.err"; }
  pid=$running_PID
  said=
  local line
  while IFS= read -r -t 60 line <&"${running[0]}"; do
    said+=$line$'\n'
    [[ $line == end || $line == ready ]] && return
  done
  fail "the target did not start: $* $(<"$tmp/target.err")"
}

stop() {
  kill -KILL "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
}
trap 'stop; rm -rf "$tmp"' EXIT

# What is compared: every figure of an idle process, to the byte.
compare() {
  /usr/bin/python3 - "$said" "$out" <<'END'
import json, sys
said = dict(line.split() for line in sys.argv[1].split("\n") if " " in line)
said = {name: int(value) for name, value in said.items()}
page = json.loads(sys.argv[2])
memory = page["memory"]
assert not page["in_motion"] and not page["damaged"], page
assert memory["live"] - said["live_before"] == said["held"], (memory, said)
wrong = {name: (memory[name], said[name]) for name in memory if memory[name] != said[name]}
assert not wrong, wrong
assert page["kernel"]["rss"] >= memory["resident"] > 0, page["kernel"]
assert memory["mapped"] >= 64 << 20 and memory["mapped_chunks"] == 1, memory
assert len(page["arenas"]) == memory["arenas"] and sum(a["threads"] for a in page["arenas"]) >= 1, page["arenas"]
assert len(page["windows"]) == memory["windows"] + memory["heaps"], page["windows"]
for w in page["windows"]:
    assert len(w["picture"]) == 64 and not set(w["picture"]) - set("#+-o_."), w
assert sum(c["live"] * c["size"] for c in page["classes"]) <= memory["live"], page["classes"]
assert page["counters"]["mapped_chunks"] == 1 and page["profile"] in ("glibc", "default"), page
options = {o["name"]: o for o in page["options"]}
assert (options["runs"]["value"] != 0) == (memory["windows"] > 0), options["runs"]
assert options["arena_max"]["value"] == 3 and options["arena_max"]["origin"] == "RUNG_OPTIONS", options["arena_max"]
assert options["arena_test"]["no_effect"], options["arena_test"]
END
}

# ---- figures
for options in profile=glibc profile=default,runs=0 profile=default,runs=1; do
  for threads in 0 3; do
    start LD_PRELOAD="$librung" RUNG_OPTIONS=$options,arena_max=3 "$target" "$threads"
    expect 0 "$rung" stat --json "$pid"
    same "$err" ''
    compare || fail "with $options and $threads threads"
    expect 0 "$rung" stat "$pid"
    for piece in "process $pid (" "$librung" live cached pinned 'free, resident' accessible \
      'arena_max = 3 (RUNG_OPTIONS)' 'NO EFFECT: there are no fastbins'; do
      has "$out" "$piece"
    done
    hasnt "$out" 'at work'
    stop
  done
done
start RUNG_OPTIONS=profile=default,runs=1,arena_max=3 "$static_target" 2
expect 0 "$rung" stat --json "$pid"
compare || fail "linked statically"
stop

# ---- a process that never rests: it is said, and nothing breaks
start LD_PRELOAD="$librung" RUNG_OPTIONS=profile=default,runs=1 "$target" 2 busy
for _ in 1 2 3 4 5; do
  expect 0 "$rung" stat --json "$pid"
  /usr/bin/python3 -c 'import json, sys; assert json.load(sys.stdin)["in_motion"]' <<<"$out" || fail "it does not move: $out"
done
expect 0 "$rung" stat "$pid"
has "$out" 'at work'
stop

# ---- again and again, until it ends
start LD_PRELOAD="$librung" "$target" 0
: >"$tmp/watched"
timeout 60 "$rung" stat --json --watch 0.05 "$pid" >"$tmp/watched" 2>"$tmp/watched.err" &
watch=$!
for _ in $(seq 600); do
  [ "$(grep -c '^}$' "$tmp/watched")" -ge 3 ] && break
  sleep 0.1
done
stop
status=0
wait "$watch" || status=$?
same "$status" 1
has "$(<"$tmp/watched.err")" 'ended'
/usr/bin/python3 - "$tmp/watched" <<'END'
import json, sys
text, n = open(sys.argv[1]).read(), 0
while text.strip():
    page, end = json.JSONDecoder().raw_decode(text.lstrip())
    text, n = text.lstrip()[end:], n + 1
assert n >= 3, n
END

# ---- what cannot be looked at, and what to do
expect 1 "$rung" stat 999999999
has "$err" 'there is no process 999999999'
expect 1 "$rung" stat $$
has "$err" 'does not run on Rung'
has "$err" 'rung run'

mkdir "$tmp/lib"
cp "$librung" "$tmp/lib/librung.so"
start LD_PRELOAD="$tmp/lib/librung.so" "$target" 0
expect 0 "$rung" stat "$pid"
cp "$librung" "$tmp/lib/new"
mv "$tmp/lib/new" "$tmp/lib/librung.so"
expect 1 "$rung" stat "$pid"
has "$err" 'replaced'
has "$err" "$tmp/lib/librung.so"
rm "$tmp/lib/librung.so"
expect 1 "$rung" stat "$pid"
has "$err" 'removed'
stop

start "$liar" version
expect 1 "$rung" stat "$pid"
has "$err" 'runs Rung 99.1'
has "$err" 'built with that library'
stop

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  start LD_PRELOAD="$librung" "$target" 0
  cp "$rung" "$tmp/rung" && chmod 755 "$tmp" "$tmp/rung"
  expect 1 setpriv --reuid=65534 --regid=65534 --clear-groups "$tmp/rung" stat "$pid"
  has "$err" 'may not be looked into'
  has "$err" 'as root'
  stop
elif [ "$(id -u)" != 0 ]; then
  expect 1 "$rung" stat 1
  has "$err" 'may not be looked into'
fi

# ---- nonsense in the other process: an answer all the same, and in time
answers() {
  try "$rung" stat "$@" "$pid"
  [[ $status == 0 && -z $err ]] || [[ $status == 1 && $err == 'rung stat: '* ]] ||
    fail "status $status with seed $seed: $err"
}
for seed in $(seq "${RUNG_TEST_SEEDS:-12}"); do
  start "$liar" "$seed"
  answers
  answers --json
  [ "$status" = 1 ] || /usr/bin/python3 -c 'import json, sys; json.load(sys.stdin)' <<<"$out" || fail "no JSON with seed $seed"
  stop
done

# ---- wrong use
for wrong in '' '--json' 'x' '0' '-1' '1.5' '1 2' '--watch 1' '--watch' '--watch x 1' '--watch -1 1' '--watch nan 1' '--no-such 1'; do
  expect 2 "$rung" stat $wrong
  same "$out" ''
  has "$err" 'rung help stat'
done
