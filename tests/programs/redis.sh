#!/usr/bin/env bash
# A Redis server on a socket of its own: a fixed set of commands whose data must have the same digest, a load
# from several clients, and a snapshot by a forked child that is read back. Debian's server is linked with
# jemalloc, which the preloaded library takes the place of.
. "$(dirname -- "$0")/program.sh"
needs=(redis-cli redis-benchmark redis-check-rdb)
waiter=(redis-cli redis-cli -s ./nowhere)

# Debian packs the server's program under this name too, without the service that belongs to redis-server.
prepare() {
  ln -s "$(command -v redis-server || command -v redis-check-rdb)" redis-server
  local i
  for ((i = 0; i < 40000; i++)); do
    printf 'SET string:%d %0*d\n' "$((i % 7000))" "$((i * 7919 % 300 + 1))" "$i"
    printf 'LPUSH list:%d item-%d\n' "$((i % 90))" "$i"
    printf 'HSET hash:%d field-%d %d\n' "$((i % 400))" "$((i % 37))" "$i"
    printf 'ZADD sorted:%d %d member-%d\n' "$((i % 50))" "$((i * 31 % 1009))" "$((i % 600))"
    ((i % 3)) || printf 'DEL string:%d\n' "$((i * 13 % 7000))"
    ((i % 5)) || printf 'RPOP list:%d\n' "$((i % 90))"
    ((i % 4)) || printf 'APPEND grown:%d %0*d\n' "$((i % 5))" 40 "$i"
  done >commands
}

start_server() {
  local config=(--port 0 --unixsocket "$PWD/redis.sock" --dir "$PWD" --save '' --appendonly no --daemonize no)
  case $("$input/redis-server" --version) in
    *v=[0-6].*) ;;
    *) config+=(--enable-debug-command yes) ;;
  esac
  "$input/redis-server" "${config[@]}" >server.log 2>&1 &
  server=$!
  trap 'kill "$server" 2>/dev/null || true; wait "$server" || true' EXIT
  local try
  for ((try = 0; try < 300; try++)); do
    [ "$(cli PING 2>/dev/null)" != PONG ] || return 0
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
  done
  cat server.log
  fail 'the server did not answer'
}

cli() {
  redis-cli -s "$PWD/redis.sock" "$@"
}

stop_server() {
  cli SHUTDOWN NOSAVE >/dev/null 2>&1 || true
  wait "$server"
  trap - EXIT
}

job() {
  start_server
  if [ -n "${RUNG_LIB-}" ] && [ "${LD_PRELOAD-}" = "$RUNG_LIB" ]; then
    grep -qF "$RUNG_LIB" "/proc/$server/maps" || fail 'the server runs without the preloaded library'
  fi
  cli --pipe <"$input/commands"
  cli DEBUG DIGEST
  redis-benchmark -s "$PWD/redis.sock" -q -n 80000 -c 20 -P 8 -d 200 -r 20000 -t set,get,lpush,lpop,hset >load.log
  cli FLUSHALL
  cli --pipe <"$input/commands"
  cli DEBUG DIGEST
  cli BGSAVE >/dev/null
  until cli INFO persistence | grep -q 'rdb_bgsave_in_progress:0'; do sleep 0.05; done
  cli INFO persistence | grep -o 'rdb_last_bgsave_status:[a-z]*'
  cli DEBUG RELOAD
  cli DEBUG DIGEST
  cli INFO keyspace | grep -o 'keys=[0-9]*'
  cli INFO memory | grep -q '^used_memory:[1-9]' || fail 'INFO shows no memory in use'
  stop_server
  rm -f load.log server.log dump.rdb redis.sock
}

program "$@"
