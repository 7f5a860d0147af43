"""What the comparison runs on: the toys, the installed glibc in three settings, peers if installed, and Rung if given."""

import dataclasses
import os
import pathlib
import sysconfig

TOYS = ("bump", "freelist", "trim", "mmap")
PEERS = {
    "jemalloc": "libjemalloc.so.2",
    "mimalloc": "libmimalloc.so.2",
    "tcmalloc": "libtcmalloc_minimal.so.4",
}
RUNG_PROFILES = ("glibc", "default")

NO_TCACHE = "glibc.malloc.tcache_count=0"
FIXED_THRESHOLD = "glibc.malloc.mmap_threshold=131072"

# Whatever a shell may have set to steer an allocator would steer only some of the rows.
STEERING = ("LD_PRELOAD", "GLIBC_TUNABLES", "RUNG_OPTIONS", "MALLOC_", "MIMALLOC_", "TCMALLOC_", "_RJEM_")


@dataclasses.dataclass(frozen=True)
class Allocator:
    name: str
    library: str = ""  # to preload; empty: the libc's own malloc
    settings: tuple = ()  # (variable, value) pairs

    def environment(self):
        env = {k: v for k, v in os.environ.items() if not k.startswith(STEERING)}
        env.update(self.settings)
        if self.library:
            env["LD_PRELOAD"] = self.library
        return env


def library_directories():
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    roots = ("/usr/local/lib", "/usr/lib", "/lib")
    return [f"{r}/{multiarch}" for r in roots if multiarch] + ["/usr/lib64", *roots]


def installed_peers():
    for name, file in PEERS.items():
        for directory in library_directories():
            path = pathlib.Path(directory, file)
            if path.exists():
                yield Allocator(name, str(path))
                break


def glibc_family(name, library="", settings=()):
    """The same malloc as it comes, without its per-thread cache, and with a threshold that stays where it is."""
    return [
        Allocator(name, library, settings),
        Allocator(f"{name}, no tcache", library, (*settings, ("GLIBC_TUNABLES", NO_TCACHE))),
        Allocator(f"{name}, fixed threshold", library, (*settings, ("GLIBC_TUNABLES", FIXED_THRESHOLD))),
    ]


def all_allocators(build, rung):
    toys = [Allocator(toy, str(build / "toys" / f"{toy}.so")) for toy in TOYS]
    rungs = []
    if rung:
        for profile in RUNG_PROFILES:
            rungs += glibc_family(f"rung {profile}", str(rung), (("RUNG_OPTIONS", f"profile={profile}"),))
    return toys + glibc_family("glibc") + list(installed_peers()) + rungs
