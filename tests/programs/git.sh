#!/usr/bin/env bash
# git: a repository made on the spot, cloned, packed and checked; its objects, log and export are compared.
. "$(dirname -- "$0")/program.sh"
needs=(git openssl)
waiter=(git git hash-object --stdin)

prepare() {
  mkdir texts
  deterministic_text 3M | split -a 3 -l 400 - texts/part-
}

# Nothing of the machine's or the user's settings, and the same names and times in both runs.
pinned_git() {
  export HOME=$PWD GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_TERMINAL_PROMPT=0
  export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=C GIT_COMMITTER_EMAIL=c@example.org
  export GIT_AUTHOR_DATE='2001-02-03T04:05:06 +0000' GIT_COMMITTER_DATE='2001-02-03T04:05:06 +0000'
}

job() {
  pinned_git
  git init -q -b main repo
  local parts=("$input"/texts/part-*) commit at
  for ((commit = 1; commit <= 30; commit++)); do
    for ((at = commit % 13; at < ${#parts[@]}; at += 13)); do
      { cat "${parts[at]}"; seq "$commit"; } >"repo/$(basename "${parts[at]}")"
    done
    seq "$commit" "$((commit * 50))" >"repo/numbers-$((commit % 7))"
    git -C repo add .
    git -C repo commit -q -m "commit $commit"
  done
  git clone -q --no-local repo copy
  git -C copy gc -q --prune=now
  git -C copy fsck --full --strict --no-progress 2>&1
  git -C copy log --stat --format='%H %s' | cksum
  git -C copy cat-file --batch-all-objects --batch-check | cksum
  git -C copy fast-export --all | cksum
  git -C copy diff HEAD~20 HEAD | cksum
  git -C copy grep -c 'ab' HEAD~5 | cksum
  git -C copy blame numbers-3 | cksum
  rm -rf repo copy # indices and packs hold inode numbers and depend on the order of threads
}

program "$@"
