#!/usr/bin/env bash
# Lua: every object goes through one realloc-like function; tables that grow, strings and collection steps.
. "$(dirname -- "$0")/program.sh"
needs=(lua5.4)
waiter=(lua5.4 lua5.4 -e 'io.read("a")')

job() {
  exec lua5.4 "$here/lua.lua"
}

program "$@"
