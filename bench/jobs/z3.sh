#!/usr/bin/env bash
# The SMT solver: the shortest plan for jobs that need machines in different orders, and an identity of bit vectors.
. "$(dirname -- "$0")/../../tests/programs/program.sh"
needs=(z3)

plan() {
  local jobs=10 machines=6 job machine other at seed=20240 order
  declare -A needs_time
  printf '(set-logic QF_LIA)\n(declare-const end Int)\n'
  for ((job = 0; job < jobs; job++)); do
    for ((machine = 0; machine < machines; machine++)); do
      seed=$(((seed * 1103515245 + 12345) % 2147483648))
      needs_time[$job,$machine]=$((1 + (seed >> 8) % 9))
      printf '(declare-const t%d_%d Int)\n(assert (>= t%d_%d 0))\n' "$job" "$machine" "$job" "$machine"
      printf '(assert (>= end (+ t%d_%d %d)))\n' "$job" "$machine" "${needs_time[$job,$machine]}"
    done
    order=($(seq 0 $((machines - 1)) | awk -v k="$job" '{ print ($1 * (k % 5 + 1) + k) % 7 % 6 " " $1 }' | sort -n | cut -d' ' -f2))
    for ((at = 1; at < machines; at++)); do
      printf '(assert (>= t%d_%d (+ t%d_%d %d)))\n' "$job" "${order[at]}" "$job" "${order[at - 1]}" \
        "${needs_time[$job,${order[at - 1]}]}"
    done
  done
  for ((machine = 0; machine < machines; machine++)); do
    for ((job = 0; job < jobs; job++)); do
      for ((other = 0; other < job; other++)); do
        printf '(assert (or (>= t%d_%d (+ t%d_%d %d)) (>= t%d_%d (+ t%d_%d %d))))\n' \
          "$job" "$machine" "$other" "$machine" "${needs_time[$other,$machine]}" \
          "$other" "$machine" "$job" "$machine" "${needs_time[$job,$machine]}"
      done
    done
  done
  printf '(minimize end)\n(check-sat)\n(get-objectives)\n'
}

prepare() {
  plan >plan.smt2
  cat >identity.smt2 <<'SMT'
(set-logic QF_BV)
(declare-const a (_ BitVec 8))
(declare-const b (_ BitVec 8))
(declare-const c (_ BitVec 8))
(assert (not (= (bvmul a (bvadd b c)) (bvadd (bvmul c a) (bvmul b a)))))
(assert (bvult a b))
(check-sat)
SMT
}

job() {
  z3 "$input/plan.smt2"
  z3 "$input/identity.smt2"
}

program "$@"
