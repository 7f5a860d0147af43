#!/usr/bin/python3
"""FIELD 9: in a statically linked program the library's malloc is the only one: nothing pulled libc's in beside it.

usage: static_symbols.py program
"""
import subprocess
import sys

# Functions of glibc's malloc that no replacement defines.
OF_LIBC = {"__malloc_fork_lock_parent", "__malloc_arena_thread_freeres", "_int_malloc", "_int_free", "__libc_malloc2"}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    lines = subprocess.run(["nm", sys.argv[1]], check=True, capture_output=True, text=True).stdout.splitlines()
    names = {line.split()[-1] for line in lines}
    foreign = sorted(OF_LIBC & names)
    if "malloc" not in names:
        sys.exit("%s does not define malloc: it is not linked statically" % sys.argv[1])
    if "rung_heap_check" not in names:
        sys.exit("%s has no rung_heap_check: its malloc is not Rung's" % sys.argv[1])
    if foreign:
        sys.exit("libc's own malloc is in the program too: %s" % ", ".join(foreign))
    return 0


sys.exit(main())
