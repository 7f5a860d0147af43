#!/usr/bin/env bash
# rung run: what the command sees, how it ends, and what is refused before it is started.
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
stand_in=$2 # a shared library that does nothing: these tests are about finding and passing it

mkdir "$tmp/build"
cp "$rung" "$tmp/build/rung"
cp "$stand_in" "$tmp/build/librung.so"
run=("$tmp/build/rung" run)

# ---- the library: beside the program, or in ../lib, with links resolved
expect 0 "${run[@]}" -- sh -c 'echo "$LD_PRELOAD"'
same "$out" "$tmp/build/librung.so"
expect 0 "${run[@]}" grep -c librung.so /proc/self/maps
mkdir "$tmp/bin" "$tmp/lib" "$tmp/elsewhere"
cp "$rung" "$tmp/bin/rung"
cp "$stand_in" "$tmp/lib/librung.so"
ln -s "$tmp/bin/rung" "$tmp/elsewhere/rung"
for program in "$tmp/bin/rung" "$tmp/elsewhere/rung"; do
  expect 0 "$program" run sh -c 'echo "$LD_PRELOAD"'
  same "$out" "$tmp/lib/librung.so"
done
(cd "$tmp/bin" && PATH=.:$PATH && rung run true)
mkdir -p "$tmp/none/here" "$tmp/a b"
cp "$rung" "$tmp/none/here/rung"
expect 125 "$tmp/none/here/rung" run true
has "$err" "$tmp/none/here"
has "$err" 'build it'
cp "$rung" "$tmp/a b/rung"
cp "$stand_in" "$tmp/a b/librung.so"
expect 125 "$tmp/a b/rung" run true
has "$err" 'move it'

# ---- in front of other libraries, behind other options
expect 0 env LD_PRELOAD=libm.so.6 "${run[@]}" sh -c 'echo "$LD_PRELOAD"'
same "$out" "$tmp/build/librung.so:libm.so.6"
expect 0 "${run[@]}" sh -c 'echo "${RUNG_OPTIONS-unset}"'
same "$out" unset
expect 0 "${run[@]}" -o arena_max=2 -otop_pad=64k --profile glibc --profile=default sh -c 'echo "$RUNG_OPTIONS"'
same "$out" 'arena_max=2,top_pad=64k,profile=glibc,profile=default'
expect 0 env RUNG_OPTIONS=arena_max=1 "${run[@]}" -o arena_max=2 sh -c 'echo "$RUNG_OPTIONS"'
same "$out" 'arena_max=1,arena_max=2'
expect 0 env RUNG_OPTIONS= "${run[@]}" -o arena_max=2 sh -c 'echo "$RUNG_OPTIONS"'
same "$out" 'arena_max=2'

# ---- the command's own arguments and status
expect 0 "${run[@]}" printf '%s|' -o x=1 --profile y '' 'a b' --
same "$out" '-o|x=1|--profile|y||a b|--|'
expect 0 "${run[@]}" -o arena_max=2 -- printf '%s|' -o
same "$out" '-o|'
for wanted in 0 1 2 77 125; do
  expect "$wanted" "${run[@]}" sh -c "exit $wanted"
done
expect 137 "${run[@]}" sh -c 'kill -KILL $$'
expect 127 "${run[@]}" "$tmp/nothing"
has "$err" "$tmp/nothing"
expect 127 "${run[@]}" no-such-command-here
expect 126 "${run[@]}" "$tmp"
touch "$tmp/file"
expect 126 "${run[@]}" "$tmp/file"
has "$err" 'ermission denied'

# ---- refused before anything is started
refused() {
  local named=$1
  shift
  expect 125 "${run[@]}" "$@" touch "$tmp/started"
  has "$err" "$named"
  [ ! -e "$tmp/started" ] || fail "the command was started: $*"
}
refused "'arena_mx'" -o arena_mx=2
refused 'rung tunables' -o arena_mx=2
refused "'0'" -o arena_max=0
refused 'from 0 to 65535' -o tcache_count=65536
refused "'2,top_pad=0'" -o arena_max=2,top_pad=0
refused 'name=value' -o arena_max
refused "'fast'" --profile fast
refused 'glibc, default' --profile=fast
refused "'fast'" -o profile=fast
refused "there is no option --no-such" --no-such
refused "there is no option -x" -x
refused "there is no option --profiles=glibc" --profiles=glibc
for missing in -o --profile; do
  expect 125 "${run[@]}" "$missing"
  has "$err" "$missing needs a value"
  has "$err" 'rung help run'
done
expect 125 "${run[@]}"
has "$err" 'rung help run'
expect 125 "${run[@]}" -o arena_max=2 --
