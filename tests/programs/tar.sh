#!/usr/bin/env bash
# GNU tar: a tree of thousands of names packed, listed, taken apart and compared.
. "$(dirname -- "$0")/program.sh"
needs=(tar openssl)
waiter=(tar tar -tf -)

prepare() {
  local directory
  for ((directory = 0; directory < 40; directory++)); do
    mkdir -p "tree/directory-$directory/deeper"
    seq "$directory" "$((directory + 2000))" |
      (cd "tree/directory-$directory" && split -a 3 -l 20 - "a-name-of-some-length-$directory-")
    ln -s "../directory-$directory" "tree/directory-$directory/deeper/link"
  done
  deterministic_text 20M >tree/large
}

job() {
  tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --format=pax \
    --pax-option=delete=atime,delete=ctime -C "$input" -cf tree.tar tree
  cksum <tree.tar
  tar -tvf tree.tar | cksum
  mkdir out
  tar -xf tree.tar -C out
  diff -r --no-dereference "$input/tree" out/tree
  tar --sort=name --mtime=@0 --owner=0 --group=0 -C "$input" -czf - tree | tar -tzf - | wc -l
  rm -rf out tree.tar
}

program "$@"
