#!/usr/bin/env bash
# bench/compare on a hundredth of its work: that it measures what it says it measures, and that its verdicts can
# be both yes and no. The figures themselves are too small to judge anybody by.
#
#   compare.sh LIBRARY PROGRAMS
set -euo pipefail
here=$(cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd)
compare=$here/../../bench/compare
library=$1 programs=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/rung-speed.XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
  printf 'FAILED: %s\n' "$*"
  exit 1
}

# What `compare` prints with the given arguments goes to $work/out; its exit status must be the first.
expect() {
  local wanted=$1 status=0
  shift
  timeout -k 10 200 "$compare" --rung "$library" --programs "$programs" --scale 0.01 "$@" >"$work/out" 2>&1 || status=$?
  [ "$status" = "$wanted" ] || { cat "$work/out"; fail "exit status $status instead of $wanted: compare $*"; }
}

says() {
  grep -qF -- "$1" "$work/out" || { cat "$work/out"; fail "nothing says '$1'"; }
}

expect 0 --runs 2 --only own,lua --allocators rung --json "$work/own.json"
says 'geometric means'
/usr/bin/python3 - "$work/own.json" <<'END'
import json, sys
document = json.load(open(sys.argv[1]))
assert list(document["allocators"]) == ["system", "rung"], document["allocators"]
ran = set(document["samples"]) | set(document["skipped"])
assert len(ran) == 11 and set(document["skipped"]) <= {"lua"}, ran
for program, by_name in document["samples"].items():
    for name in ("system", "rung"):
        samples = by_name[name]
        assert len(samples) == 2, (program, name, samples)
        for sample in samples:
            assert 0 < sample["time"] < 200 and sample["cpu"] >= 0, (program, name, sample)
            # More than an empty process and less than the machine: the peak is the program's, in KiB.
            assert 1000 < sample["peak"] < 4e6, (program, name, sample)
    assert document["summary"][program]["system"]["time"]["ratio"] == 1
# Even the shortest run of `large` holds blocks of many MiB; the other one only small blocks.
peak = {program: document["summary"][program]["system"]["peak"]["median"] for program in ("large", "replace-1")}
assert peak["large"] > 2 * peak["replace-1"], peak
assert document["geometric_means"]["system"]["peak"] == 1
END

expect 0 --runs 1 --only replace-1 --allocators rung --check 1000
says 'every program keeps the limit'
expect 1 --runs 1 --only replace-1 --allocators rung --check 0.001
says 'FAILED: replace-1: peak resident memory'
says 'measured again: replace-1'

# Mistakes are named, and none of them looks like a verdict.
expect 2 --only no-such-program
says "no program 'no-such-program'"
expect 2 --allocators no-such-allocator
says "no allocator 'no-such-allocator'"
expect 2 --with broken="$compare" --allocators broken --runs 1 --only replace-1
says 'cannot be preloaded'
expect 2 --timeout 0.001 --runs 1 --only replace-1
says 'took more than'
printf 'ok\n'
