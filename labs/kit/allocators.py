"""The allocators a lab can run under, as --under names them."""

import os
import platform
from dataclasses import dataclass, field
from pathlib import Path
from typing import Mapping, Optional

from .errors import BUILD, CannotRun


@dataclass(frozen=True)
class Allocator:
    name: str
    kind: str  # "glibc": the C library's own; "rung"; "other"; "none": the lab is not about an allocator
    profile: str = ""
    env: Mapping[str, str] = field(default_factory=dict)


NO_ALLOCATOR = Allocator("this machine", "none")


def host_glibc() -> Allocator:
    library, version = platform.libc_ver()
    return Allocator(f"glibc {version}" if library == "glibc" else "this libc", "glibc")


def named(text: str, librung: Optional[Path]) -> Allocator:
    if text == "glibc":
        return host_glibc()
    if text == "rung" or text.startswith("rung:"):
        profile = text.partition(":")[2] or "glibc"
        if librung is None:
            raise CannotRun(f"librung.so was not found: build it ({BUILD}) "
                                   "or name it with --librung PATH")
        if not librung.is_file():
            raise CannotRun(f"{librung} does not exist: name the library with --librung PATH")
        env = {"LD_PRELOAD": str(librung.resolve()), "RUNG_OPTIONS": f"profile={profile}"}
        return Allocator(f"rung:{profile}", "rung", profile, env)
    path = Path(text)
    if path.suffix == ".so" or ".so." in path.name:
        if not path.is_file():
            raise CannotRun(f"{text} does not exist: give the path of a shared library")
        return Allocator(path.name.split(".so")[0].removeprefix("lib"), "other", env={"LD_PRELOAD": str(path.resolve())})
    raise CannotRun(f"{text}: say glibc, rung, rung:PROFILE or the path of an allocator's .so")


def clean_environment() -> dict[str, str]:
    """The caller's environment without anything that configures an allocator."""
    kept = {k: v for k, v in os.environ.items()
            if not k.startswith(("MALLOC_", "RUNG_")) and k not in ("LD_PRELOAD", "GLIBC_TUNABLES")}
    kept["LC_ALL"] = "C"
    return kept
