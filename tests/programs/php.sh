#!/usr/bin/env bash
# PHP: it opens its extensions with RTLD_DEEPBIND, and frees in them what it allocated outside.
. "$(dirname -- "$0")/program.sh"
needs=(php)
waiter=(php php -r 'echo stream_get_contents(STDIN);')

job() {
  USE_ZEND_ALLOC=0 php "$here/php.php"
  php "$here/php.php"
  php -m
}

program "$@"
