# What the tests of the benchmark have in common; to be sourced, with LIBRARY and PROGRAMS as $1 and $2, and `given`
# set to the arguments that each of their runs has.
here=$(cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd)
bench=$here/../../bench/bench.py
library=$1 programs=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/rung-speed.XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
  printf 'FAILED: %s\n' "$*"
  exit 1
}

# What the benchmark prints with the given arguments goes to $work/out; its exit status must be the first.
expect() {
  local wanted=$1 status=0
  shift
  timeout -k 10 200 "$bench" --rung "$library" --programs "$programs" "${given[@]}" "$@" >"$work/out" 2>&1 || status=$?
  [ "$status" = "$wanted" ] || { cat "$work/out"; fail "exit status $status instead of $wanted: bench.py ${given[*]} $*"; }
}

says() {
  grep -qF -- "$1" "$work/out" || { cat "$work/out"; fail "nothing says '$1'"; }
}
