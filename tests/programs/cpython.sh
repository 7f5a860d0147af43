#!/usr/bin/env bash
# A part of CPython's own tests: they exercise failing allocations, huge sizes, threads and interpreter
# shutdown in ways no script of ours does. Each outcome must be the one the test has under the system's malloc.
. "$(dirname -- "$0")/program.sh"
needs=(/usr/bin/python3)
waiter=(python3 /usr/bin/python3 -c 'import sys; sys.stdin.read()')

prepare() {
  /usr/bin/python3 -c 'import test.test_dict' 2>/dev/null ||
    skip "CPython's tests are not installed; tools/deps names the package (libpython3.*-testsuite)"
}

job() {
  PYTHONMALLOC=malloc PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/python3 "$here/cpython.py" \
    test_json test_threading test_list test_dict test_zlib test_bytes test_memoryview
}

# An interpreter that fails every test in both runs would have compared nothing.
extra() {
  local passed
  passed=$(grep -c '^ok' preloaded.stdout)
  printf '%s tests of CPython passed\n' "$passed"
  ((passed > 500)) || fail 'most tests of CPython fail here, with and without Rung'
  ! grep -E '^(failed|error|surprise)' preloaded.stdout ||
    fail 'these fail with and without Rung, so they say nothing about it'
}

program "$@"
