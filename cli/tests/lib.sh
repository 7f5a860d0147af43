# shellcheck shell=bash disable=SC2034 # the variables are for the tests
# Sourced by the tests: $rung is the command under test, $tmp a directory that goes away.
# A test is started as: bash NAME.sh RUNG [STAND_IN]
set -euo pipefail
export LC_ALL=C
unset LD_PRELOAD RUNG_OPTIONS GLIBC_TUNABLES ${!MALLOC_*}
# The command itself may be built with it, and is started with other libraries in LD_PRELOAD.
export ASAN_OPTIONS=verify_asan_link_order=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
root=$(cd -- "$here/../.." && pwd)
rung=$1
tmp=$(cd -- "$(mktemp -d)" && pwd -P)
trap 'rm -rf "$tmp"' EXIT

fail() {
  printf 'FAILED at line %s: %s\n' "${BASH_LINENO[${#BASH_LINENO[@]} - 2]}" "$*" >&2
  exit 1
}

# Runs a command; its status is then in $status, what it wrote in $out and $err.
try() {
  status=0
  timeout 60 "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || status=$?
  out=$(<"$tmp/out")
  err=$(<"$tmp/err")
}

# expect STATUS COMMAND...: runs it and insists on the status.
expect() {
  local wanted=$1
  shift
  try "$@"
  [ "$status" = "$wanted" ] || fail "status $status instead of $wanted: $* (it wrote: $out $err)"
}

# Insists that a text has a piece in it.
has() {
  [[ $1 == *"$2"* ]] || fail "no '$2' in: $1"
}

hasnt() {
  [[ $1 != *"$2"* ]] || fail "'$2' in: $1"
}

same() {
  [ "$1" = "$2" ] || fail "'$1' is not '$2'"
}
