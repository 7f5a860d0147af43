#!/usr/bin/python3
"""A demonstration: one JSON job of four threads under the system's malloc and under Rung, side by side.

usage: tools/demo LIBRARY

The input is this machine's list of installed packages, or Python's own library where there is none. The job
parses it, and each thread turns it into JSON and back several times, reshapes it, and lets it go. Python runs
with PYTHONMALLOC=malloc, so that every object is malloc's business and not only those over 512 bytes.
"""

import gc
import json
import os
import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path
from statistics import median

RUNS = 3
THREADS = 4
PACKAGES = Path("/var/lib/dpkg/status")


def package_records():
    """dpkg's status file: paragraphs of `Field: value` lines, continued by lines that start with a blank."""
    for paragraph in PACKAGES.read_text(errors="replace").split("\n\n"):
        record, field = {}, None
        for line in paragraph.splitlines():
            if line[:1] in (" ", "\t") and field:
                record[field] += "\n" + line.strip()
            elif ":" in line:
                field, value = line.split(":", 1)
                record[field] = value.strip()
        if record:
            yield record


def source_records():
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        yield {"Package": path.name, "Depends": ", ".join(path.stem), "Lines": path.read_text(errors="replace").split("\n")}


def records():
    return list(package_records() if PACKAGES.exists() else source_records())


def reshape(data):
    """Packages by what they depend on, with their fields' words as lists."""
    needed_by = {}
    for record in data:
        for need in record.get("Depends", "").replace("|", ",").split(","):
            needed_by.setdefault(need.strip().split(" ")[0], []).append(
                {field: value.split() if isinstance(value, str) else value for field, value in record.items()}
            )
    return needed_by


def job():
    begin = time.monotonic()

    def body(own):
        data = own
        for _ in range(3):
            data = json.loads(json.dumps(data))
        shaped = reshape(data)
        text = json.dumps(shaped, indent=1, sort_keys=True)
        results.append((len(text), len(json.loads(text))))

    results = []
    own = [records() for _ in range(THREADS)]
    threads = [threading.Thread(target=body, args=(one,)) for one in own]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - begin
    del own, threads
    gc.collect()
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    kib = {key: int(status[key].split()[0]) for key in ("VmHWM", "VmRSS")}
    print(json.dumps({"seconds": seconds, "peak": kib["VmHWM"] / 1024, "after": kib["VmRSS"] / 1024, "results": results}))


def measure(library):
    environment = dict(os.environ, PYTHONMALLOC="malloc", PYTHONHASHSEED="0")
    environment.pop("LD_PRELOAD", None)
    if library:
        environment["LD_PRELOAD"] = library
    child = subprocess.run(
        ["/usr/bin/python3", __file__, "--job"], env=environment, capture_output=True, text=True, timeout=300
    )
    if child.returncode != 0:
        sys.exit(f"the job failed with {library or 'the system malloc'} (status {child.returncode}):\n{child.stderr}")
    return json.loads(child.stdout)


def table(rows):
    """One line an allocator; in each column a bar as long as its figure is in proportion to the largest."""
    columns = [("seconds", "time", "{:7.2f} s  "), ("peak", "peak memory", "{:7.0f} MiB"), ("after", "after all is freed", "{:7.0f} MiB")]
    width = 14
    lines = [" " * 15 + "".join(title.ljust(width + 14) for _, title, _ in columns).rstrip()]
    for name, values in rows.items():
        line = name.ljust(14)
        for key, _, form in columns:
            bar = "█" * max(1, round(width * values[key] / max(row[key] for row in rows.values())))
            line += form.format(values[key]) + " " + bar.ljust(width + 2)
        lines.append(line.rstrip())
    return "\n".join(lines)


def main(library):
    source = PACKAGES if PACKAGES.exists() else "Python's own library"
    print(f"{THREADS} threads of Python turn {source} into JSON and back, {RUNS} runs each, medians:\n")
    runs = {"system malloc": [], "Rung": []}
    for number in range(RUNS):
        for name, results in runs.items():
            if sys.stderr.isatty():
                print(f"\r\033[Krun {number + 1} of {RUNS}: {name}", end="", file=sys.stderr, flush=True)
            results.append(measure(library if name == "Rung" else None))
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    if len({json.dumps(sorted(one["results"])) for results in runs.values() for one in results}) != 1:
        sys.exit("the job's results differ from run to run; that is a bug: please report it with this output.")
    print(table({name: {key: median(one[key] for one in results) for key in ("seconds", "peak", "after")} for name, results in runs.items()}))
    root = os.path.relpath(Path(__file__).resolve().parent.parent)
    print(f"\nTry it on a program of yours:  {root}/run COMMAND...\nSee what else there is:        {os.path.relpath(os.path.dirname(library))}/rung --help")


if __name__ == "__main__":
    if sys.argv[1:] == ["--job"]:
        job()
    elif len(sys.argv) == 2 and os.access(sys.argv[1], os.R_OK):
        main(os.path.abspath(sys.argv[1]))
    else:
        sys.exit(__doc__)
