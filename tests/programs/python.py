"""A deterministic tour through what makes CPython allocate; prints one checksum a stage."""

import hashlib
import json
import random
import re
import threading
import zlib
from collections import OrderedDict, deque
from decimal import Decimal
from fractions import Fraction


def show(stage, value):
    digest = hashlib.sha256(repr(value).encode()).hexdigest()
    print(f"{stage:12} {digest}")


def documents(seed, count):
    rng = random.Random(seed)
    return [
        {
            "id": number,
            "name": "item-%d" % rng.randrange(10**6),
            "tags": ["t%d" % rng.randrange(50) for _ in range(rng.randrange(12))],
            "weights": [rng.random() for _ in range(rng.randrange(20))],
            "nested": {"a": {"b": {"c": [None, True, rng.randrange(10**12)]}}},
            "text": "x" * rng.randrange(400),
        }
        for number in range(count)
    ]


def json_rounds(seed):
    data = documents(seed, 1500)
    for _ in range(3):
        text = json.dumps(data, sort_keys=True, indent=1)
        data = json.loads(text)
        data.sort(key=lambda one: (len(one["tags"]), one["id"]))
    return hashlib.sha256(text.encode()).hexdigest()


def in_threads(count, work):
    results = [None] * count

    def body(number):
        results[number] = work(number)

    threads = [threading.Thread(target=body, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def containers(seed):
    rng = random.Random(seed)
    table = {}
    for _ in range(60000):
        table[rng.randrange(10**5)] = (rng.randrange(10**9), str(rng.random()))
    for key in sorted(table)[::2]:
        del table[key]
    ordered = OrderedDict(sorted(table.items()))
    window = deque(maxlen=1000)
    grown = []
    for key, value in ordered.items():
        window.append(value)
        grown += [key] * (key % 5)
    return len(grown), sum(grown), list(window)[:20], {len(one[1]) for one in table.values()}


def text_work(seed):
    rng = random.Random(seed)
    words = [bytes(rng.choices(b"abcdefghij", k=rng.randrange(1, 15))).decode() for _ in range(20000)]
    text = " ".join(words)
    found = re.findall(r"\b(a\w+?)(b|c)\w*", text)
    replaced = re.sub(r"(\w)(\w)", r"\2\1", text)
    parts = [zlib.decompress(zlib.compress(replaced[:size].encode(), 6)) for size in range(1000, 60000, 3000)]
    buffer = bytearray()
    for part in parts:
        buffer += part
    return len(found), found[:50], len(buffer), zlib.crc32(buffer)


def numbers(_):
    total, product = Fraction(0), Decimal(1)
    for number in range(1, 400):
        total += Fraction(1, number)
        product *= Decimal(number)
    return str(total), str(product), 3**20000 % 10**50


show("json", json_rounds(1))
show("json x 4", in_threads(4, json_rounds))
show("containers", in_threads(2, containers))
show("text", in_threads(3, text_work))
show("numbers", numbers(0))
