#!/usr/bin/env bash
# The core and the model test, compiled for aarch64 and run in qemu's user mode with pages of the given size:
# one binary for every page size.
#
#   aarch64.sh SOURCE_DIRECTORY WORK_DIRECTORY PAGE_SIZE PROFILE...
set -euo pipefail
source_dir=$1 work=$2 page=$3
shift 3
cc=aarch64-linux-gnu-gcc
qemu=qemu-aarch64
for program in $cc $qemu; do
  if ! command -v $program >/dev/null; then
    echo "skipped: no $program (tools/deps install cross)"
    exit 77
  fi
done

# The tests for several page sizes share one binary; whoever comes first builds it.
mkdir -p "$work"
exec 9>"$work/lock"
flock 9
binary=$work/model
if [ ! -e "$binary" ] || [ -n "$(find "$source_dir"/src "$source_dir"/tests/model -newer "$binary" -type f)" ]; then
  mapfile -t core < <(find "$source_dir/src" -name '*.[cS]')
  $cc -std=gnu11 -O2 -static -pthread -Wall -Wextra -Wconversion -Werror -D_GNU_SOURCE -DRUNG_PREFIXED -DRUNG_ASSERT=2 \
    -DRUNG_VERSION='"cross"' -fno-builtin-malloc -fno-builtin-free -fno-builtin-calloc -fno-builtin-realloc \
    -I"$source_dir/src" -I"$source_dir/include" -I"$source_dir/tests/model" \
    "${core[@]}" "$source_dir"/tests/model/*.c -o "$binary.new"
  mv "$binary.new" "$binary"
fi
flock -u 9

# One process a seed, started here: the emulator cannot start itself again.
first=${RUNG_MODEL_SEED:-$(date +%s)}
for profile in "$@"; do
  options=profile=$profile
  for seed in "$first" $((first + 1)) $((first + 2)); do
    echo "page $page, $options, RUNG_MODEL_SEED=$seed"
    timeout -k 5 250 $qemu -p "$page" -E RUNG_MODEL_CHILD=1 -E "RUNG_OPTIONS=$options" "$binary" mixed "$seed"
  done
done
