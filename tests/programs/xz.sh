#!/usr/bin/env bash
# xz with two threads: dictionaries of several MiB a thread and buffers passed between threads.
. "$(dirname -- "$0")/program.sh"
needs=(xz openssl)
waiter=(xz xz -T2 -c)

# Digits of a base64 text repeat enough to be worth compressing and differ enough to take time.
prepare() {
  deterministic_text 2M | tr 'A-Za-z' '0-90-90-90-90-90-9' >text
}

job() {
  xz -T2 -3 --block-size=512KiB -c "$input/text" >text.xz
  xz -T2 -dc text.xz | cmp - "$input/text"
  xz -4 -T1 -c "$input/text" | cksum
  cksum <text.xz
}

program "$@"
