#!/usr/bin/env bash
# PHP's server for FastCGI: a master and the workers that it forks; it opens extensions with RTLD_DEEPBIND.
. "$(dirname -- "$0")/program.sh"
PATH=$PATH:/usr/sbin
server=$(compgen -c php-fpm | sort | tail -n 1) # its name carries PHP's version
needs=("${server:-php-fpm}")
waiter=("${server:-php-fpm}" "$script" serve)

configure() {
  printf '%s\n' '[global]' "error_log = /dev/stderr" '[www]' "listen = $1/socket" 'pm = static' 'pm.max_children = 2' >"$1/pool.conf"
}

# What the configuration and the loaded extensions come to.
job() {
  local dir
  dir=$(mktemp -d)
  configure "$dir"
  "$server" --allow-to-run-as-root --fpm-config "$dir/pool.conf" --test 2>&1 | sed "s/^\[[^]]*\] //; s|$dir|DIR|"
  "$server" -m
  rm -r "$dir"
}

# A server that runs until standard input ends, and must then end well.
serve() {
  local dir
  dir=$(mktemp -d)
  configure "$dir"
  "$server" --allow-to-run-as-root --nodaemonize --fpm-config "$dir/pool.conf" &
  cat
  kill -QUIT $!
  wait $!
  rm -r "$dir"
}

if [ "${1-}" = serve ]; then
  serve
else
  program "$@"
fi
