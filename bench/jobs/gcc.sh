#!/usr/bin/env bash
# The C compiler, optimising, on the sources of Rung's arenas. Debug information names the directory, which is another
# one in each run that is not timed.
. "$(dirname -- "$0")/../../tests/programs/program.sh"
needs=(gcc)

# A copy, so that somebody who edits a source meanwhile does not make two runs differ.
prepare() {
  cp -r "$here/../../src" "$here/../../include" .
}

job() {
  local source
  for source in "$input"/src/arena/*.c; do
    gcc -std=gnu11 -O2 -g "-ffile-prefix-map=$PWD=." -fPIC -D_GNU_SOURCE -I"$input/src" -I"$input/include" -S "$source" -o out.s
    cksum <out.s
  done
  rm -f out.s
}

program "$@"
