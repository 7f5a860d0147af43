#!/usr/bin/env bash
# The commands are listed, described, and unknown ones answered.
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

expect 0 "$rung" --version
[[ $out =~ ^rung\ [0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "version: $out"
has "$(<"$root/CMakeLists.txt")" "project(rung VERSION ${out#rung } "

expect 0 "$rung" help
same "$err" ''
list=$out
for alias in --help -h; do
  expect 0 "$rung" "$alias"
  same "$out" "$list"
done
commands=$(sed -n 's/^  \([a-z][a-z]*\) .*/\1/p' <<<"$list")
same "$(sort <<<"$commands" | paste -sd' ')" 'bench counters help lab messages run stat tunables'
for command in $commands; do
  expect 0 "$rung" help "$command"
  has "$out" "usage: rung $command"
  [ "$(wc -l <<<"$out")" -ge 3 ] || fail "rung help $command says nothing: $out"
done

expect 2 "$rung"
same "$out" ''
has "$err" 'rung help'
for wrong in x -x --versions tunable tunables-; do
  expect 2 "$rung" "$wrong"
  same "$out" ''
  has "$err" "'$wrong'"
  has "$err" 'rung help'
done
expect 2 "$rung" help x
has "$err" "'x'"

# Output that cannot be written is no success.
if [ -w /dev/full ]; then
  for command in help tunables counters messages; do
    status=0
    "$rung" "$command" >/dev/full 2>"$tmp/err" || status=$?
    same "$status" 1
    has "$(<"$tmp/err")" 'could not be written'
  done
fi
