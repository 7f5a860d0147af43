"""What can make a comparison worthless."""


class Failure(Exception):
    """Its text says what to do."""


def not_built(path):
    """The failure of whoever misses a program of the benchmark, or the library."""
    return Failure(f"there is no {path}: build it first (tools/deps install bench && tools/build release gcc librung.so rung benches)")
