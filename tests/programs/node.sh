#!/usr/bin/env bash
# Node: JSON, buffers outside of its own heap, zlib, worker threads.
. "$(dirname -- "$0")/program.sh"
needs=(node)
waiter=(node node -)

job() {
  exec node "$here/node.js"
}

program "$@"
