#!/usr/bin/env bash
# OpenSSL: ciphers, digests, keys and signatures over 128 MB, and its benchmark for a second.
. "$(dirname -- "$0")/program.sh"
needs=(openssl)
waiter=(openssl openssl dgst -sha256)

prepare() {
  deterministic_text 96M >text
  openssl genrsa -out key.pem 2048 2>/dev/null
  openssl pkey -in key.pem -pubout -out public.pem
}

job() {
  local key=000102030405060708090a0b0c0d0e0f iv=0f0e0d0c0b0a09080706050403020100
  openssl enc -aes-128-cbc -K "$key" -iv "$iv" -in "$input/text" -out cipher
  openssl enc -d -aes-128-cbc -K "$key" -iv "$iv" -in cipher | cmp - "$input/text"
  openssl dgst -sha256 -r <cipher
  openssl dgst -sha3-256 -r <cipher
  openssl enc -chacha20 -K "$key$key" -iv "$iv" -in "$input/text" | openssl dgst -blake2b512 -r
  openssl dgst -sha256 -sign "$input/key.pem" -out signature <cipher
  openssl dgst -sha256 -verify "$input/public.pem" -signature signature <cipher
  rm cipher
}

extra() {
  rung openssl speed -seconds 1 -bytes 1024 -evp sha256 >speed 2>&1 || { cat speed; fail 'openssl speed failed'; }
  rung openssl genrsa 2048 2>/dev/null | rung openssl rsa -check -noout | grep -qx 'RSA key ok' ||
    fail 'a key made under Rung is not valid'
}

program "$@"
