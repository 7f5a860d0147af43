#!/usr/bin/env bash
# CPython: JSON, threads, big containers, regular expressions and zlib. PYTHONMALLOC=malloc sends every object
# to malloc; otherwise only those over 512 bytes and the arenas of pymalloc would go there.
. "$(dirname -- "$0")/program.sh"
needs=(/usr/bin/python3)
waiter=(python3 /usr/bin/python3 -c 'import sys; sys.stdin.read()')

job() {
  PYTHONMALLOC=malloc PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/python3 "$here/python.py"
}

# The same with pymalloc, whose arenas are large mapped blocks.
extra() {
  local name
  for name in '' "$RUNG_LIB"; do
    LD_PRELOAD=$name PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 timeout -k 10 "$limit" \
      /usr/bin/python3 "$here/python.py" >"pymalloc${name:+.preloaded}"
  done
  cmp pymalloc pymalloc.preloaded || fail 'with pymalloc the job printed something else under Rung'
}

program "$@"
