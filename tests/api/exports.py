#!/usr/bin/python3
"""Row E1 from outside: the shared library exports the malloc interface, the C++ operators and rung_* names, all of them and
nothing else, and its thread-local segment stays within the 64 bytes a dlopen can still be given.

usage: exports.py librung.so
"""
import re
import subprocess
import sys

PLAIN = """malloc free calloc realloc reallocarray memalign aligned_alloc posix_memalign valloc pvalloc free_sized
free_aligned_sized memalignment malloc_usable_size mallopt mallinfo mallinfo2 malloc_stats malloc_info malloc_trim cfree""".split()

# In front of libc's: they drop RTLD_DEEPBIND (src/api/dlopen.c).
OPENERS = ["dlopen", "dlmopen"]

# The names glibc itself gives its functions beside the public ones; preloaded code and libc's own callers use them.
REQUIRED_ALIASES = """__libc_malloc __libc_free __libc_calloc __libc_realloc __libc_memalign __libc_valloc
__libc_pvalloc""".split()
ALLOWED_ALIASES = re.compile(r"__(libc_)?(%s)$" % "|".join(PLAIN))

SIZE = "m" if sys.maxsize > 2**32 else "j"
ALIGN, NOTHROW = "St11align_val_t", "RKSt9nothrow_t"
OPERATORS = []
for letter in "wa":
    OPERATORS += ["_Zn" + letter + SIZE + rest for rest in ("", NOTHROW, ALIGN, ALIGN + NOTHROW)]
for letter in "la":
    OPERATORS += ["_Zd" + letter + "Pv" + rest
                  for rest in ("", SIZE, NOTHROW, ALIGN, SIZE + ALIGN, ALIGN + NOTHROW)]

MAX_TLS = 64


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exported(library):
    names = set()
    for line in run("nm", "-D", "--defined-only", library).splitlines():
        name = line.split()[-1]
        if " A " not in line:  # version nodes
            names.add(name.split("@")[0])
    return names


def tls_size(library):
    for line in run("readelf", "-lW", library).splitlines():
        fields = line.split()
        if fields and fields[0] == "TLS":
            return int(fields[5], 16)
    return 0


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    library = sys.argv[1]
    names = exported(library)
    problems = []
    for name in PLAIN + REQUIRED_ALIASES + OPERATORS + OPENERS:
        if name not in names:
            problems.append("missing: " + name)
    for name in sorted(names):
        known = name in PLAIN or name in OPERATORS or name in OPENERS or ALLOWED_ALIASES.match(name) or name.startswith("rung_")
        if not known:
            problems.append("exported but not part of the interface: " + name)
    size = tls_size(library)
    if size > MAX_TLS:
        problems.append("PT_TLS takes %d bytes, more than %d: dlopen can fail for lack of static TLS" % (size, MAX_TLS))
    print("%d names exported, PT_TLS %d bytes" % (len(names), size))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


sys.exit(main())
