#!/usr/bin/env bash
# GNU sort on 200 MB with two threads: a few very large blocks, touched at random.
. "$(dirname -- "$0")/program.sh"
needs=(sort openssl)
waiter=(sort sort)

prepare() {
  deterministic_text 148M >text # 200 MB once in base64
}

job() {
  sort --parallel=2 -S 512M "$input/text" | cksum
  # And in pieces that are merged from temporary files.
  head -c 40000000 "$input/text" | sort --parallel=2 -S 8M -T . -k1.5,1.20 | cksum
}

program "$@"
