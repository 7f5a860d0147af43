"""Who is compared: the system's malloc, the allocators the distribution has, Rung with a profile and options, any library."""

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from .errors import Failure

SYSTEM = "system"
# Files of the distribution's packages, the newest first.
PEERS = {
    "jemalloc": ("libjemalloc.so.2",),
    "mimalloc": ("libmimalloc.so.3", "libmimalloc.so.2"),
    "tcmalloc": ("libtcmalloc_minimal.so.4",),
}
# What is compared when nobody says otherwise, and what the ablation takes mechanisms from.
FULL = "rung:default"
RUNG = ("rung:glibc", FULL)


@dataclass(frozen=True)
class Contender:
    name: str
    kind: str  # "system", "peer" or "rung"
    library: str = ""  # to be preloaded
    environment: dict = field(default_factory=dict)

    def record(self):
        return {"kind": self.kind, "library": self.library, **self.environment}


def shared_libraries():
    """Name -> path of every library the dynamic linker knows for this machine's own kind of program."""
    try:
        listing = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return {}
    found = {}
    for name, kind, path in re.findall(r"^\s+(\S+) \(([^)]*)\) => (\S+)", listing, re.M):
        if any(word in kind for word in ("x86-64", "AArch64")):
            found.setdefault(name, path)
    return found


def clean_environment():
    """The caller's environment without anything that configures an allocator or what the harness runs under."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MALLOC_", "RUNG_", "MIMALLOC_", "TCMALLOC_", "BENCH_"))
        and name not in ("LD_PRELOAD", "GLIBC_TUNABLES")
    }


def preloadable(path):
    path = Path(path)
    if not path.is_file() or not os.access(path, os.R_OK):
        raise Failure(f"{path} is no file that can be read: give the path of a shared library")
    full = str(path.resolve())
    if re.search(r"[\s:]", full):
        raise Failure(f"{full} has a blank or a colon in it, which LD_PRELOAD takes for the end of a name: move it")
    return full


def rung(options, library, name=None):
    """Rung with a profile and settings, as in `default,runs=off`; of one set twice, the last counts."""
    profile, *settings = options.split(",")
    chosen = {"profile": profile or "default"}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise Failure(f"rung:{options}: after the profile come settings such as runs=off, not '{setting}'")
        chosen[key] = value
    text = ",".join(f"{key}={value}" for key, value in chosen.items())
    return Contender(name or f"rung:{options}", "rung", preloadable(library), {"RUNG_OPTIONS": text})


def installed():
    """Name -> path of the distribution's allocators found here."""
    known = shared_libraries()
    found = {}
    for name, files in PEERS.items():
        paths = [known[file] for file in files if file in known]
        if paths:
            found[name] = paths[0]
    return found


def named(text, library):
    """The contender that --under calls so."""
    peers = installed()
    if text == SYSTEM:
        return Contender(SYSTEM, "system")
    if text == "rung" or text.startswith("rung:"):
        return rung(text[5:], library, text)
    if text in peers:
        return Contender(text, "peer", preloadable(peers[text]))
    if text in PEERS:
        raise Failure(f"{text} is not installed here; `tools/deps install bench` installs it")
    name, equals, path = text.partition("=")
    if not equals:
        name, path = Path(text).name.split(".so")[0].removeprefix("lib"), text
    if "/" not in path and ".so" not in path:
        raise Failure(f"no allocator '{text}': say {SYSTEM}, {', '.join(PEERS)}, rung:PROFILE[,OPTION=VALUE...], PATH or NAME=PATH of a library")
    return Contender(name, "peer", preloadable(path))


def choose(under, base, library):
    """The contenders in the order they are shown, the base first."""
    names = under or [SYSTEM, *installed(), *RUNG]
    chosen = {}
    for text in [base or SYSTEM, *names]:
        contender = named(text, library)
        chosen.setdefault(contender.name, contender)
    return chosen
