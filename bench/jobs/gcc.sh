#!/usr/bin/env bash
# The C compiler, optimising, on the sources of Rung's arenas.
. "$(dirname -- "$0")/../../tests/programs/program.sh"
needs=(gcc)

# A copy, so that somebody who edits a source meanwhile does not make two runs differ.
prepare() {
  cp -r "$here/../../src" "$here/../../include" .
}

job() {
  local source
  for source in "$input"/src/arena/*.c; do
    gcc -std=gnu11 -O2 -g -fPIC -D_GNU_SOURCE -I"$input/src" -I"$input/include" -S "$source" -o out.s
    cksum <out.s
  done
  rm -f out.s
}

program "$@"
