#!/usr/bin/env bash
# The memory benchmark on a fiftieth of its work: that it reads what the programs hold, and that its verdicts can be both
# yes and no. What Rung owes is owed for the whole work; two scenarios that take a few seconds are run for that.
#
#   memory.sh LIBRARY PROGRAMS
set -euo pipefail
given=(--memory)
. "$(dirname -- "$(readlink -f -- "$0")")/run.sh"

expect 0 --scale 0.02 --rounds 1 --under system --under rung:default --json "$work/memory.json" --csv "$work/memory.csv"
says 'nothing is owed'
/usr/bin/python3 "$here/memory.py" "$work/memory.json" "$work/memory.csv"

# The pictures need a package that the allocators' names do not.
if /usr/bin/python3 -c 'import matplotlib' 2>/dev/null; then
  timeout 200 "$bench" --from "$work/memory.json" --html "$work/memory.html" >"$work/out"
  says 'What is owed'
  [ "$(grep -c '</svg>' "$work/memory.html")" = 11 ] || fail 'there is not a picture for each scenario'
  # Nothing is fetched when the page is opened.
  ! grep -qE '(src|href)="?(https?:)?//|@import|url\(http' "$work/memory.html" || fail 'the page needs a network'
fi

# Profile glibc keeps what a pool's threads freed, as its model does, and grows with none of 20,000 threads.
expect 0 --only dying --under rung:glibc --owed
says ' met'
expect 1 --only pools --under rung:glibc --owed
says 'FAILED: pools under rung:glibc: above start'
says 'MISSED'

# Mistakes are named.
expect 2 --only no-such-scenario
says "no scenario 'no-such-scenario'"
expect 2 --scale 0.1 --owed
says '--owed goes with --memory and --scale 1'
expect 2 --check 1.05
says '--memory goes with none of'
expect 2 --scale 0.01 --only pools --under broken="$bench"
says 'cannot be preloaded'
printf 'ok\n'
