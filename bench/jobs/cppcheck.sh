#!/usr/bin/env bash
# A C++ program of many small objects: the checker's syntax trees and value flow, on Rung's own sources.
. "$(dirname -- "$0")/../../tests/programs/program.sh"
needs=(cppcheck)

prepare() {
  cp -r "$here/../../src" "$here/../../include" .
}

job() {
  cppcheck -q --enable=style -I"$input/src" -I"$input/include" "$input"/src/{arena,cache,options,runs} 2>&1 | cksum
}

program "$@"
