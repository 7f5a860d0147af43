#!/usr/bin/env bash
# The benchmark on a hundredth of its work: that it measures what it says it measures, and that its verdicts can be
# both yes and no. The figures themselves are too small to judge anybody by.
#
#   compare.sh LIBRARY PROGRAMS
set -euo pipefail
given=(--scale 0.01)
. "$(dirname -- "$(readlink -f -- "$0")")/run.sh"

one=(--rounds 1 --rest 0 --only replace-1)

expect 0 --rounds 2 --rest 0.2 --only own,crowd-2,z3 --under rung:glibc --json "$work/own.json" --csv "$work/own.csv"
says 'geometric mean'
/usr/bin/python3 "$here/compare.py" "$work/own.json" "$work/own.csv"

# The pictures need a package that the allocators' names do not.
if /usr/bin/python3 -c 'import matplotlib' 2>/dev/null; then
  expect 0 --from "$work/own.json" --html "$work/own.html"
  [ "$(grep -c '</svg>' "$work/own.html")" -ge 8 ] || fail 'pictures are missing'
  # Nothing is fetched when the page is opened.
  ! grep -qE '(src|href)="?(https?:)?//|@import|url\(http' "$work/own.html" || fail 'the page needs a network'
else
  expect 2 --from "$work/own.json" --html "$work/own.html"
  says 'pictures need matplotlib'
fi

expect 0 "${one[@]}" --ablation
says 'without depot'
says 'all on in s'

expect 0 "${one[@]}" --under rung:glibc --check 1000
says 'every program keeps the limit'
expect 1 "${one[@]}" --under rung:glibc --check 0.001
says 'FAILED: replace-1 under rung:glibc: peak resident memory'
says 'measured again: replace-1'

expect 0 "${one[@]}" --base "same=$library" --under rung:glibc
says 'same s  rung:glibc'

# Mistakes are named, and none of them looks like a verdict.
expect 2 --only no-such-program
says "no program 'no-such-program'"
expect 2 --under no-such-allocator
says "no allocator 'no-such-allocator'"
expect 2 "${one[@]}" --under broken="$bench"
says 'cannot be preloaded'
expect 2 "${one[@]}" --under rung:glibc,no_such_option=1
says "'no_such_option' is no option"
expect 2 "${one[@]}" --timeout 0.001
says 'took more than'
expect 2 "${one[@]}" --under system --check 1.05
says '--check judges Rung'
printf 'ok\n'
