#!/usr/bin/env bash
# Perl: hashes, growing strings, sort, regular expressions, closures and forked children.
. "$(dirname -- "$0")/program.sh"
needs=(perl)
waiter=(perl perl -e 'my $line = <STDIN>')

job() {
  PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0 exec perl "$here/perl.pl"
}

program "$@"
