#!/usr/bin/python3
"""Row E4: malloc_info writes well-formed XML of glibc's schema, in glibc's order, without a `fast` total, and its numbers add up
and agree with mallinfo2.  With runs the heaps are the arenas, which small blocks have no need of: what runs have is in the totals
alone, so these exceed the heaps' sums.

usage: malloc_info.py program [library to preload]
"""
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

problems = []


def check(condition, text):
    if not condition:
        problems.append(text)


def shape(element):
    """The order of an element's children: tag and type."""
    return [child.tag + ("/" + child.get("type") if child.get("type") else "") for child in element]


def numbers(element, *names):
    check(sorted(element.keys()) == sorted(list(names) + (["type"] if element.get("type") else [])),
          "<%s> has the attributes %s" % (element.tag, sorted(element.keys())))
    values = []
    for name in names:
        text = element.get(name) or ""
        check(re.fullmatch(r"[0-9]+", text), "<%s> %s=%r is no number" % (element.tag, name, text))
        values.append(int(text) if text.isdigit() else 0)
    return values


def check_sizes(heap, nr, runs):
    """Sum and number of the free chunks in the bins of a heap."""
    sizes = heap.find("sizes")
    total_sum = count_sum = 0
    last_to = 0
    tags = [child.tag for child in sizes]
    check(tags == ["size"] * tags.count("size") + ["unsorted"] * tags.count("unsorted"),
          "heap %d: <sizes> holds %s" % (nr, tags))
    check(tags.count("unsorted") <= 1, "heap %d: several <unsorted>" % nr)
    check(runs or tags.count("size") >= 3, "heap %d: the bins show %d sizes, the program freed many" % (nr, tags.count("size")))
    check(runs or "unsorted" in tags, "heap %d: the unsorted chunk is not shown" % nr)
    for child in sizes:
        first, last, total, count = numbers(child, "from", "to", "total", "count")
        check(first <= last and count > 0, "heap %d: from %d to %d, count %d" % (nr, first, last, count))
        check(count * first <= total <= count * last, "heap %d: %d chunks of %d..%d are not %d bytes"
              % (nr, count, first, last, total))
        if child.tag == "size":
            check(first > last_to, "heap %d: sizes out of order at %d" % (nr, first))
            last_to = last
        total_sum += total
        count_sum += count
    return total_sum, count_sum


SECONDARY = ["sizes", "total/rest", "system/current", "system/max", "aspace/total", "aspace/mprotect", "aspace/subheaps"]
TOTALS = ["total/rest", "total/mmap", "system/current", "system/max", "aspace/total", "aspace/mprotect"]


def check_heap(heap, nr, sums, host, runs):
    expected = SECONDARY if nr else SECONDARY[:-1]
    children = [c for c in heap if not (host and c.get("type") == "fast")]
    got = [c.tag + ("/" + c.get("type") if c.get("type") else "") for c in children]
    check(heap.get("nr") == str(nr), "heap %d calls itself %s" % (nr, heap.get("nr")))
    check(got == expected, "heap %d: %s, expected %s" % (nr, got, expected))
    if got != expected:
        return
    binned, chunks = check_sizes(heap, nr, runs)
    count, size = numbers(children[1], "count", "size")
    current, = numbers(children[2], "size")
    maximum, = numbers(children[3], "size")
    aspace, = numbers(children[4], "size")
    protected, = numbers(children[5], "size")
    check(count == chunks + 1, "heap %d: rest counts %d, the bins hold %d and top is one" % (nr, count, chunks))
    check(binned <= size <= current, "heap %d: rest %d, bins %d, system %d" % (nr, size, binned, current))
    check(current <= maximum, "heap %d: system current %d > max %d" % (nr, current, maximum))
    check(protected >= aspace or nr == 0, "heap %d: aspace %d, mprotect %d" % (nr, aspace, protected))
    if nr == 0:
        check(aspace == current and protected == current, "heap 0: aspace %d and %d, system %d" % (aspace, protected, current))
    else:
        subheaps, = numbers(children[6], "size")
        check(subheaps >= 1, "heap %d has %d sub-heaps" % (nr, subheaps))
    for name, value in zip(("count", "size", "current", "max", "aspace", "mprotect"),
                           (count, size, current, maximum, aspace, protected)):
        sums[name] = sums.get(name, 0) + value


def check_totals(root, sums, info, host):
    totals = [c for c in root if c.tag != "heap" and not (host and c.get("type") == "fast")]
    got = [c.tag + "/" + (c.get("type") or "") for c in totals]
    check(got == TOTALS, "the totals are %s, expected %s" % (got, TOTALS))
    if got != TOTALS:
        return
    count, size = numbers(totals[0], "count", "size")
    mapped, mapped_size = numbers(totals[1], "count", "size")
    rest = [numbers(t, "size")[0] for t in totals[2:]]
    got = [count, size] + rest
    of_heaps = [sums[name] for name in ("count", "size", "current", "max", "aspace", "mprotect")]
    check(got == of_heaps or info["runs"], "the totals are %s, the heaps have %s" % (got, of_heaps))
    beyond = [g - h for g, h in zip(got, of_heaps)]
    check(all(n > 0 for n in beyond) or not info["runs"], "the totals have %s beyond the heaps: no runs" % beyond)
    check(beyond[1] < beyond[2] or not info["runs"], "runs: %d bytes free of %d" % (beyond[1], beyond[2]))
    check(rest[0] == info["arena"], "system current %d, mallinfo2 says %d" % (rest[0], info["arena"]))
    check((mapped, mapped_size) == (info["hblks"], info["hblkhd"]), "mmap %d, %d; mallinfo2 says %s" % (mapped, mapped_size, info))
    if not host:
        check(count == info["ordblks"], "rest counts %d, mallinfo2 says %d" % (count, info["ordblks"]))
        # glibc adds up sizes with the flag bit of each binned chunk still in them.
        check(size - info["fordblks"] in range(0, count + 1), "rest is %d bytes, mallinfo2 says %d" % (size, info["fordblks"]))


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    host = os.environ.get("RUNG_TEST_HOST_MALLOC") == "1"
    env = dict(os.environ)
    if len(sys.argv) == 3 and not host:
        env["LD_PRELOAD"] = sys.argv[2]
    result = subprocess.run(sys.argv[1:2], env=env, capture_output=True, text=True, timeout=50)
    if result.returncode:
        sys.exit("%s: exit status %d\n%s" % (sys.argv[1], result.returncode, result.stderr))
    root = ET.fromstring(result.stdout)
    comment = re.search(r"<!-- (.*) -->", result.stdout).group(1)
    info = {name: int(value) for name, value in (field.split("=") for field in comment.split())}
    check(root.tag == "malloc" and root.attrib == {"version": "1"}, "the root is <%s %s>" % (root.tag, root.attrib))
    heaps = root.findall("heap")
    check(shape(root)[:len(heaps)] == ["heap"] * len(heaps), "heaps and totals are mixed: %s" % shape(root))
    want = 1 if info["runs"] else 4
    check(len(heaps) == want, "%d heaps for a main thread and three others, not %d" % (len(heaps), want))
    sums = {}
    for nr, heap in enumerate(heaps):
        check_heap(heap, nr, sums, host, info["runs"])
    if not host:
        check("fast" not in result.stdout, "there is a `fast` total, and no fast bin")
    if not problems:
        check_totals(root, sums, info, host)
    for problem in problems:
        print(problem)
    print("%d heaps, %d free chunks, %d problems" % (len(heaps), sums.get("count", 0), len(problems)))
    if problems:
        print(result.stdout)
    return 1 if problems else 0


sys.exit(main())
