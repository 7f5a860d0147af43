#!/usr/bin/env bash
# rung tunables: the values in force, their origins, and what has no effect.
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

# value and origin of an option, and its NO EFFECT line if any, from the last output
line_of() {
  grep "^$1 = " <<<"$out" || fail "no line about $1 in: $out"
}
no_effect() {
  grep -A1 "^$1 = " <<<"$out" | sed -n 's/^    NO EFFECT: //p'
}

names=$(sed -n 's/^OPTION([A-Z_]*, "\([a-z_]*\)".*/\1/p' "$root/src/options/options.def")
[ "$(wc -w <<<"$names")" -ge 14 ] || fail "options.def is not understood: $names"

# ---- every option, from the profile when the environment is silent
expect 0 "$rung" tunables
same "$err" ''
has "$out" 'profile default'
for name in $names; do
  has "$(line_of "$name")" '(profile)'
done
same "$(no_effect arena_max)" ''
for name in mxfast check; do
  [ -n "$(no_effect $name)" ] || fail "$name is said to have an effect"
done
for place in MALLOC_ARENA_MAX glibc.malloc.arena_max 'mallopt(M_ARENA_MAX)'; do
  has "$out" "$place"
done

# ---- where values come from
expect 0 env MALLOC_ARENA_MAX=2 MALLOC_TOP_PAD_=0x10 GLIBC_TUNABLES=glibc.malloc.perturb=7:glibc.malloc.top_pad=5 \
  RUNG_OPTIONS=profile=glibc,perturb=8 "$rung" tunables -o tcache_max=2k
same "$err" ''
has "$out" 'profile glibc'
same "$(line_of arena_max)" 'arena_max = 2 (MALLOC_ARENA_MAX)'
same "$(line_of top_pad)" 'top_pad = 5 (GLIBC_TUNABLES)'
same "$(line_of perturb)" 'perturb = 8 (RUNG_OPTIONS)'
same "$(line_of tcache_max)" 'tcache_max = 2048 (RUNG_OPTIONS)'
has "$(no_effect arena_test)" 'arena_max'
has "$(no_effect tcache_count)" 'perturb'

expect 0 "$rung" tunables --profile glibc -o tcache_count=0 -o mmap_max=0
has "$out" 'profile glibc'
has "$(no_effect tcache_max)" 'tcache_count'
has "$(no_effect mmap_threshold)" 'mmap_max'

# A size of huge pages brings its threshold along, unless that was set too.
expect 0 "$rung" tunables -o hugetlb=2m
same "$(line_of mmap_threshold)" 'mmap_threshold = 2097152 (hugetlb)'
expect 0 "$rung" tunables -o hugetlb=2m -o mmap_threshold=1m
same "$(line_of mmap_threshold)" 'mmap_threshold = 1048576 (RUNG_OPTIONS)'
expect 0 "$rung" tunables -o hugetlb=3m
same "$(line_of mmap_threshold)" 'mmap_threshold = 131072 (profile)'
has "$(no_effect hugetlb)" 'no page'

# What the environment gets wrong is said as the library says it; the rest counts.
expect 0 env RUNG_OPTIONS=arena_mx=1,arena_max=5 "$rung" tunables
has "$err" "'arena_mx'"
same "$(line_of arena_max)" 'arena_max = 5 (RUNG_OPTIONS)'

# ---- for programs
expect 0 env MALLOC_ARENA_MAX=2 "$rung" tunables --json -o tcache_count=0
names_in_json=$(/usr/bin/python3 -c '
import json, sys
page = json.load(sys.stdin)
options = {o["name"]: o for o in page["options"]}
assert page["profile"] == "default", page["profile"]
arena_max = options["arena_max"]
assert (arena_max["value"], arena_max["origin"], arena_max["mallopt"]) == (2, "MALLOC_ARENA_MAX", -8), arena_max
assert arena_max["max"] == 2**64 - 1 and arena_max["no_effect"] is None, arena_max
assert options["tcache_max"]["no_effect"] and options["tcache_max"]["alias"] is None
print(*options, sep="\n")
' <<<"$out")
same "$names_in_json" "$names"

# ---- the page says nothing of this environment
expect 0 "$rung" tunables --markdown
page=$out
for name in $names; do
  has "$page" "## $name"
done
expect 0 env MALLOC_ARENA_MAX=77 RUNG_OPTIONS=profile=glibc "$rung" tunables --markdown -o tcache_count=0
same "$out" "$page"

# ---- wrong use
for wrong in '--json --markdown' '-o' '-o x=1' '-o arena_max=0' '--profile' '--profile fast' '--no-such' 'arena_max'; do
  expect 2 "$rung" tunables $wrong
  same "$out" ''
  [ -n "$err" ] || fail "no word about: $wrong"
done
