#!/usr/bin/env bash
# rung counters and rung messages: every row of their tables, as text and as a page.
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

rows_of() {
  grep -c "^$1(" "$root/src/$2"
}

expect 0 "$rung" counters
same "$(grep -c '^[a-z_]* (.*)$' <<<"$out")" "$(rows_of COUNTER base/counters.def)"
has "$out" 'sys_mmap (calls)'
expect 0 "$rung" counters --markdown
same "$(grep -c '^| `' <<<"$out")" "$(rows_of COUNTER base/counters.def)"

expect 0 "$rung" messages
same "$(grep -c '^[^ ]' <<<"$out")" "$(rows_of MSG guard/messages.def)"
has "$out" 'free(): double free detected in tcache 2'
expect 0 "$rung" messages --markdown
# the head of the table and its rule, then a row each
same "$(grep -c '^|.*|.*|$' <<<"$out")" "$(($(rows_of MSG guard/messages.def) + 2))"

for command in counters messages; do
  for wrong in --json x '--markdown x'; do
    expect 2 "$rung" "$command" $wrong
    same "$out" ''
    has "$err" "rung help $command"
  done
done
