#!/usr/bin/env bash
# Every entry point, beside a build of the library and the command alone: it says what is missing and which command
# brings it, and a person sees no traceback.
#
#   missing.sh BUILD
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cp "$1/librung.so" "$1/rung" "$tmp"
unset LD_PRELOAD RUNG_OPTIONS

# says TEXT COMMAND...: the command fails, and its words have TEXT in them.
says() {
  local wanted=$1 out status=0
  shift
  out=$(timeout 60 "$@" 2>&1 </dev/null) || status=$?
  [ $status != 0 ] || { printf '%s did not fail\n' "$*" >&2; exit 1; }
  [[ $out != *Traceback* && $out == *"$wanted"* ]] || {
    printf "%s does not say '%s' but:\n%s\n" "$*" "$wanted" "$out" >&2
    exit 1
  }
}

programs='tools/build release gcc librung.so rung benches'
says "$programs" "$tmp/rung" bench --only replace-1 --rounds 1 --rest 0 --under system
says "$programs" "$tmp/rung" bench --only git --rounds 1 --rest 0 --under system
says "$programs" "$tmp/rung" bench --memory --only churn --under system
mkdir "$tmp/empty"
says 'tools/build release gcc librung.so rung labs' "$tmp/rung" lab chunk-headers --bindir "$tmp/empty"
says 'tools/build release gcc librung.so rung' "$root/tools/demo" "$tmp/none.so"
