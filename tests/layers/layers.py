#!/usr/bin/env python3
"""Checks that src/ is built in layers.

  layers.py [DIRECTORY]   check src/ (or DIRECTORY, laid out like it); prints each violation, exits 1 if any
  layers.py --self-test   plant one violation of each kind in a copy, and see that it is found

The rules: a file includes only from its own layer or a lower one; the public header only from the highest;
only src/os makes system calls.
"""
import pathlib
import re
import shutil
import sys
import tempfile

# Lowest first.
LAYERS = ["base", "os", "guard", "options", "chunk", "arena", "pages", "runs", "cache", "reclaim", "life", "report", "api"]
PUBLIC = "rung/"
SYSTEM_LAYER = "os"

# What libc has for a system call and the allocator has a verb for (src/os/os.h), or must not do at all.
CALLS = """mmap mmap64 munmap mprotect madvise mremap msync mlock munlock posix_madvise brk sbrk syscall vsyscall
           prctl arch_prctl open openat open64 creat read pread write pwrite close stat fstat lseek ioctl fcntl
           readlink access getrandom getentropy sched_yield sched_getaffinity sched_getcpu getcpu sysinfo getrlimit
           setrlimit getauxval sysconf getpagesize getpid gettid clock_gettime gettimeofday time nanosleep usleep
           sleep sigprocmask pthread_sigmask sigaction signal raise kill tgkill abort exit _exit _Exit fork vfork
           membarrier futex poll select pipe""".split()
CALL = re.compile(r"(?<![\w.>])(" + "|".join(CALLS) + r")\s*\(")
NUMBER = re.compile(r"\b(SYS_[a-z]\w*|__NR_\w+)\b")
ASSEMBLER = re.compile(r'\b(?:__)?asm(?:__)?\s*(?:volatile|__volatile__)?\s*\(\s*"[^"]*\b(syscall|sysenter|int \$0x80|svc)\b')
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)


def without_comments(text):
    """The same text, comments blanked, line numbers kept."""
    blank = lambda m: re.sub(r"[^\n]", " ", m.group(0))
    return re.sub(r"/\*.*?\*/|//[^\n]*", blank, text, flags=re.S)


def without_strings(text):
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def check_file(root, path):
    layer = path.relative_to(root).parts[0]
    if layer not in LAYERS:
        yield path, 1, f"'{layer}' is no layer; the order is in tests/layers/layers.py"
        return
    text = without_comments(path.read_text())
    for m in INCLUDE.finditer(text):
        where, name = line_of(text, m.start(2)), m.group(2)
        first = name.split("/")[0]
        if name.startswith(PUBLIC):
            if layer != LAYERS[-1]:
                yield path, where, f"includes the public header {name}, which is {LAYERS[-1]}'s alone"
        elif first in LAYERS:
            if LAYERS.index(first) > LAYERS.index(layer):
                yield path, where, f"{layer} includes {name}, from the higher layer {first}"
        elif m.group(1) == '"':
            yield path, where, f'includes "{name}": write the layer in front (arena/bin.h)'
    if layer == SYSTEM_LAYER:
        return
    code = without_strings(text)
    for m in CALL.finditer(code):
        if re.search(r"\(\s*\*\s*" + m.group(1) + r"\s*\)", code):
            continue  # a function pointer of that name
        yield path, line_of(code, m.start()), f"calls {m.group(1)}(): only src/os makes system calls"
    for m in NUMBER.finditer(code):
        yield path, line_of(code, m.start()), f"names {m.group(1)}: only src/os makes system calls"
    for m in ASSEMBLER.finditer(text):
        yield path, line_of(text, m.start()), f"has the instruction {m.group(1)}: only src/os makes system calls"


def violations(root):
    files = sorted(p for p in root.rglob("*") if p.suffix in (".c", ".h", ".def"))
    if not files:
        sys.exit(f"layers.py: no sources in {root}")
    for path in files:
        yield from check_file(root, path)


# Kind, file, what is appended to it, and a piece of the message.
PLANTED = [
    ("an upward include", "chunk/size.h", '#include "arena/arena.h"\n', "from the higher layer arena"),
    ("an upward include with spaces", "base/fmt.c", '#  include   "cache/tcache.h"\n', "from the higher layer cache"),
    ("the highest from the second highest", "report/xml.c", '#include "api/names.h"\n', "from the higher layer api"),
    ("an include without its layer", "arena/bin.c", '#include "heap.h"\n', "write the layer in front"),
    ("the public header", "arena/heap.c", "#include <rung/rung.h>\n", "public header"),
    ("a call of mmap", "arena/mapped.c", "void *f(void) { return mmap(0, 1, 0, 0, -1, 0); }\n", "calls mmap()"),
    ("a call of syscall", "api/malloc.c", "long f(void) { return syscall (39); }\n", "calls syscall()"),
    ("a system call's number", "reclaim/trim.c", "enum { F = SYS_madvise };\n", "names SYS_madvise"),
    ("an instruction", "guard/lock.c", 'void f(void) { __asm__("syscall"); }\n', "has the instruction syscall"),
    ("a directory that is no layer", "extra/new.c", "int f;\n", "is no layer"),
]
# What looks like a violation and is none.
INNOCENT = [
    ("arena/heap.c", '/* #include "api/names.h" */\n// mmap(0)\nconst char *f = "mmap(1)"; int os_mmap(int); \n'),
    ("arena/heap.c", "int g(struct x *s) { return s->read(1) + my_write(2); }\n"),
    ("report/xml.c", "void h(void (*close)(int)) { close(1); }\nconst char *i = \"syscall\";\n"),
    ("os/os_linux.c", "long f(void) { return syscall(SYS_getpid); }\n"),
    ("api/rung.c", '#include "rung/rung.h"\n'),
]


def self_test(source):
    failures = 0
    with tempfile.TemporaryDirectory() as scratch:
        def judged(number, file, text):
            root = pathlib.Path(scratch) / str(number)
            shutil.copytree(source, root)
            path = root / file
            path.parent.mkdir(exist_ok=True)
            with path.open("a") as f:
                f.write(text)
            return [f"{p.relative_to(root)}: {what}" for p, _, what in violations(root) if p == path]

        for number, (kind, file, text, message) in enumerate(PLANTED):
            found = judged(number, file, text)
            if len(found) != 1 or message not in found[0]:
                print(f"not found as it should be: {kind}: {found}")
                failures += 1
        for number, (file, text) in enumerate(INNOCENT, len(PLANTED)):
            found = judged(number, file, text)
            if found:
                print(f"wrongly found: {found}")
                failures += 1
    print(f"{len(PLANTED)} planted violations and {len(INNOCENT)} innocent lines: {failures} misjudged")
    return failures


def main():
    source = pathlib.Path(__file__).resolve().parent.parent.parent / "src"
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test(source) != 0)
    if len(sys.argv) > 2 or sys.argv[1:2] == ["--help"]:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else source
    found = list(violations(root))
    for path, line, what in found:
        print(f"{path}:{line}: {what}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
