"""What the comparison has to show. Counts and memory hardly depend on the machine and get narrow bounds; times do, so
they are ratios within one run with wide bounds. Memory is anonymous RSS."""

import dataclasses

MIB = 1024  # in KiB


@dataclasses.dataclass
class Claim:
    id: str
    text: str
    measured: str
    bound: str
    holds: object  # True, False, or None: not judged

    def verdict(self):
        return {True: "holds", False: "FAILS", None: "not judged"}[self.holds]


def mib(kib):
    return f"{kib / MIB:.2f} MiB"


def bump_claims(results):
    bump = results["bump"]
    used = (bump["rss_live_kib"] - bump["rss_start_kib"]) * 1024
    off = abs(used / bump["requested_bytes"] - 1)
    yield Claim(
        "bump-keeps-everything",
        "bump holds all it ever allocated, freed or not",
        f"{mib(used / 1024)} resident of {mib(bump['requested_bytes'] / 1024)} requested; "
        f"{mib(bump['rss_kept_kib'])} after everything is freed",
        "within 2 %, and nothing back at the end",
        off <= 0.02 and bump["rss_kept_kib"] >= 0.99 * bump["rss_live_kib"],
    )


def list_claims(results):
    glibc, freelist, trim = results["glibc"], results["freelist"], results["trim"]
    for toy, least in ((freelist, 5), (trim, 10)):
        ratio = toy["ns_per_step"] / glibc["ns_per_step"]
        yield Claim(
            f"{toy['name']}-walks",
            f"walking its list makes {toy['name']} many times slower than glibc",
            f"{ratio:.1f} x glibc's time",
            f"at least {least} x",
            ratio >= least,
        )
    # Freelist walks twice a step (to fit, to free), trim a third time; what page faults add to trim is far less.
    ratio = trim["ns_per_step"] / freelist["ns_per_step"]
    yield Claim(
        "trim-third-walk",
        "trim is slower than freelist: each free walks the list once more, to its end",
        f"{ratio:.2f} x freelist's time",
        "at least 1.2 x",
        ratio >= 1.2,
    )
    yield Claim(
        "trim-gives-back",
        "trim keeps little once everything is freed, freelist keeps all",
        f"trim {mib(trim['rss_kept_kib'])}, freelist {mib(freelist['rss_kept_kib'])} "
        f"of {mib(freelist['rss_live_kib'])}",
        "trim at most 0.50 MiB, freelist at least 90 %",
        trim["rss_kept_kib"] <= 0.5 * MIB and freelist["rss_kept_kib"] >= 0.9 * freelist["rss_live_kib"],
    )


def mmap_claims(results):
    mmap, trim = results["mmap"], results["trim"]
    others = [results[n] for n in ("bump", "freelist", "trim", "glibc", "glibc, no tcache")]
    next_best = min(others, key=lambda r: r["rss_live_kib"])
    yield Claim(
        "mmap-lowest-rss",
        "with blocks live, mmap has the lowest RSS of the toys and glibc",
        f"{mib(mmap['rss_live_kib'])} for {mib(mmap['live_bytes'] / 1024)} live; "
        f"next {next_best['name']} {mib(next_best['rss_live_kib'])}",
        "lower than each",
        mmap["rss_live_kib"] < next_best["rss_live_kib"],
    )
    faults = mmap["faults_in_steps"] / max(1, trim["faults_in_steps"])
    time = mmap["ns_per_step"] / trim["ns_per_step"]
    yield Claim(
        "mmap-pays-in-time",
        "it pays in time: each page of each large block faults anew, and the walks remain",
        f"{faults:.1f} x trim's page faults, {time:.2f} x trim's time",
        "at least 5 x the faults, at least 0.8 x the time",
        faults >= 5 and time >= 0.8,
    )


def glibc_claims(results, name):
    """For the installed glibc and for whatever is built like it; ids and texts say which."""
    plain, bare, fixed = (results[name + suffix] for suffix in ("", ", no tcache", ", fixed threshold"))
    prefix = name.replace(" ", "-")
    yield Claim(
        f"{prefix}-tcache-pins",
        f"{name} keeps much after everything is freed: chunks in its tcache pin the heap",
        f"{mib(plain['rss_kept_kib'])} of {mib(plain['rss_live_kib'])}",
        "at least 25 %",
        plain["rss_kept_kib"] >= 0.25 * plain["rss_live_kib"],
    )
    yield Claim(
        f"{prefix}-no-tcache-gives-back",
        f"{name} without its tcache gives nearly everything back",
        mib(bare["rss_kept_kib"]),
        "less than 1 MiB",
        bare["rss_kept_kib"] < MIB,
    )
    ratio = fixed["ns_per_step"] / plain["ns_per_step"]
    yield Claim(
        f"{prefix}-fixed-threshold-slow",
        f"{name} is much slower when its mmap threshold stays at 128 KiB",
        f"{ratio:.1f} x its own time",
        "at least 2 x",
        ratio >= 2,
    )


def call_claims(results, name):
    large = results["mmap"]["large_requests"]
    text = f"{name} raises its threshold and maps few of the large requests, mmap maps every one"
    bound = f"at most {large // 10}; mmap exactly {large}"
    if results[name]["calls"] is None or results["mmap"]["calls"] is None:
        return [Claim(f"{name.replace(' ', '-')}-few-mmaps", text, "calls could not be counted", bound, None)]
    few, every = results[name]["calls"]["mmap"], results["mmap"]["calls"]["mmap"]
    return [
        Claim(
            f"{name.replace(' ', '-')}-few-mmaps",
            text,
            f"{name} {few} mmap calls, mmap {every}, for {large} large requests",
            bound,
            few <= large // 10 and every == large,
        )
    ]


def judge(results):
    claims = [*bump_claims(results), *list_claims(results), *mmap_claims(results)]
    for name in ("glibc", "rung glibc"):
        if name in results:
            claims += [*glibc_claims(results, name), *call_claims(results, name)]
    return claims
