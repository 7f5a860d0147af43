# What the scripts of the real programs share; each sources this file. A script defines
#
#   needs=(COMMAND...)     without these it is skipped
#   prepare                optional: makes the input in the current directory, under the system's malloc
#   job                    the work on the input in $input: deterministic; what it prints and what it leaves
#                          in the current directory is its result
#   waiter=(NAME COMMAND)  COMMAND waits on its standard input in a process called NAME
#   extra                  optional: checks that have no counterpart without Rung; `rung COMMAND` runs one
#
# and ends with `program "$@"`, which is called as
#
#   SCRIPT                 the test: the job runs without the library $RUNG_LIB and with it preloaded, in each
#                          profile; the results must be equal byte for byte, and the library must be mapped
#                          in the waiter
#   SCRIPT prepare         prepare, in the current directory
#   SCRIPT job INPUT       the job, in the current directory, whatever is preloaded
set -euo pipefail
here=$(cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd)
script=$here/$(basename -- "$0")
export LC_ALL=C TZ=UTC
limit=${RUNG_PROGRAM_TIMEOUT:-150} # seconds a run may take before it counts as hung
read -ra profiles <<<"${RUNG_PROFILES:-glibc default}"

prepare() {
  :
}

skip() {
  printf 'skipped: %s\n' "$*"
  exit 77
}

fail() {
  printf 'FAILED: %s\n' "$*"
  exit 1
}

need_commands() {
  local command
  for command in "${needs[@]}"; do
    command -v "$command" >/dev/null || skip "no $command here; tools/deps lists the packages for it"
  done
}

# The same bytes on every machine, as fast as the disk takes them: SIZE (as head -c has it) of base64 lines.
deterministic_text() {
  head -c "$1" /dev/zero |
    openssl enc -aes-128-ctr -K 000102030405060708090a0b0c0d0e0f -iv 00000000000000000000000000000000 | base64
}

rung() {
  LD_PRELOAD=$RUNG_LIB timeout -k 10 "$limit" "$@"
}

# Every process below PID, itself included.
tree() {
  local child
  printf '%s\n' "$1"
  for child in $(cat "/proc/$1/task/"*/children 2>/dev/null); do
    tree "$child"
  done
}

# Runs `COMMAND...` under Rung with a standard input that never comes and looks into the maps of the process
# called NAME. It ends when the pipe is closed.
check_mapped() {
  local name=$1 pid process found= try
  shift
  rm -f "$work/held"
  mkfifo "$work/held"
  rung "$@" <"$work/held" >"$work/waiter.out" 2>&1 &
  pid=$!
  exec 8>"$work/held"
  for ((try = 0; try < 300; try++)); do
    for process in $(tree "$pid"); do
      if [ "$(cat "/proc/$process/comm" 2>/dev/null)" = "$name" ] &&
        grep -qF "$RUNG_LIB" "/proc/$process/maps" 2>/dev/null; then
        found=$process
        break 2
      fi
    done
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  exec 8>&-
  wait "$pid" || true
  [ -n "$found" ] || fail "no process '$name' had $RUNG_LIB mapped; it said: $(tail -n 3 "$work/waiter.out")"
  printf 'the library is mapped in %s (process %s)\n' "$name" "$found"
}

# One run of the job; "$2..." is put before it. Every run is made in a directory of the same name, as
# compilers write it into their objects, and what it left is renamed to $1.
run_job() {
  local result=$work/$1
  shift
  mkdir "$work/run"
  (cd "$work/run" && exec timeout -k 10 "$limit" "$@" "$script" job "$work/input") \
    >"$result.stdout" 2>"$result.stderr" || {
    local status=$?
    tail -n 20 "$result.stdout" "$result.stderr"
    fail "the job ended with status $status (124 and 137: it took more than $limit s), run as: $* $(basename "$script")"
  }
  mv "$work/run" "$result"
}

test_program() {
  : "${RUNG_LIB:?set it to the absolute path of librung.so}"
  [[ $RUNG_LIB == /* && $RUNG_LIB != *[:\ ]* && -r $RUNG_LIB ]] ||
    fail "RUNG_LIB must be the absolute path of a library, without colons and blanks: $RUNG_LIB"
  RUNG_LIB=$(readlink -f -- "$RUNG_LIB") # as /proc/PID/maps names it
  unset LD_PRELOAD
  work=$(mktemp -d "${TMPDIR:-/tmp}/rung-programs.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  mkdir "$work/input"
  (cd "$work/input" && prepare)

  run_job plain
  [ -s "$work/plain.stdout" ] || fail 'the job printed nothing, so nothing would be compared'
  local profile
  for profile in "${profiles[@]}"; do
    printf 'profile %s: ' "$profile"
    export RUNG_OPTIONS=profile=$profile
    rm -rf "$work"/preloaded*
    run_preloaded
  done
}

# What is asked of one profile.
run_preloaded() {
  run_job preloaded env LD_PRELOAD="$RUNG_LIB"
  if grep -F 'LD_PRELOAD cannot be preloaded' "$work/preloaded.stderr"; then
    fail "the dynamic linker refused $RUNG_LIB"
  fi
  cmp "$work/plain.stdout" "$work/preloaded.stdout" || fail 'the job printed something else under Rung'
  diff -r "$work/plain" "$work/preloaded" || fail 'the job wrote something else under Rung'
  printf 'equal: %s bytes printed, %s files written\n' "$(stat -c %s "$work/plain.stdout")" \
    "$(find "$work/plain" -type f | wc -l)"

  check_mapped "${waiter[@]}"
  if declare -F extra >/dev/null; then
    (cd "$work" && extra)
  fi
}

program() {
  need_commands
  case ${1-test} in
    test) test_program ;;
    prepare) prepare ;;
    job) input=$2 job ;;
    *) fail "unknown mode '$1'" ;;
  esac
}
