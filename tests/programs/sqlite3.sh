#!/usr/bin/env bash
# SQLite: tables, indices, joins, window functions, JSON, vacuum; the dump and the database file are compared.
. "$(dirname -- "$0")/program.sh"
needs=(sqlite3)
waiter=(sqlite3 sqlite3)

job() {
  sqlite3 -batch -bail base.db <"$here/sqlite3.sql"
  # Two bytes counters of the file's header say which version of the library wrote it: the same in both runs.
  sqlite3 base.db .dump | cksum
}

program "$@"
