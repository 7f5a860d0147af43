#!/usr/bin/env bash
# rung lab and rung bench: the programs of the source tree, from any directory, with all arguments.
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

for command in lab bench; do
  script=$root/${command/lab/labs}/$command.py
  if [ -e "$script" ]; then
    for arguments in --help '--no-such-option x'; do
      try /usr/bin/python3 "$script" $arguments
      wanted=$status wanted_out=$out wanted_err=$err
      cd /
      expect "$wanted" "$rung" "$command" $arguments
      same "$out" "$wanted_out"
      same "$err" "$wanted_err"
    done
  else
    expect 1 "$rung" "$command"
    has "$err" "there is no ${script#"$root"/}"
  fi
done
