#!/usr/bin/env bash
# The compilers, the assembler and the linker: Rung's own sources in C and a C++ program full of templates;
# objects and programs are compared byte for byte.
. "$(dirname -- "$0")/program.sh"
needs=(gcc g++ nm)
waiter=(cc1plus g++ -x c++ -fsyntax-only -)

root=$(cd -- "$here/../.." && pwd)

# A copy, so that somebody who edits a source meanwhile does not make the two runs differ.
prepare() {
  cp -r "$root/src" "$root/include" "$here/templates.cpp" .
}

# A source that only compiles with what the build adds is named instead: the same in both runs, or they differ.
job() {
  local source
  for source in "$input"/src/{os,chunk,arena,cache}/*.c; do
    gcc -std=gnu11 -O2 -g -fPIC -D_GNU_SOURCE -I"$input/src" -I"$input/include" -c "$source" ||
      printf 'not outside of the build: %s\n' "${source##*/}"
  done
  g++ -std=c++17 -O1 -g -Wall -c "$input/templates.cpp" -o templates.o
  g++ -Wl,--build-id=sha1 templates.o -o templates
  nm -C templates | cksum
  ./templates
}

extra() {
  local objects
  objects=$(find preloaded -name '*.o' | wc -l)
  ((objects >= 10)) || { cat preloaded.stderr; fail "only $objects sources compiled, so little was compared"; }
}

program "$@"
