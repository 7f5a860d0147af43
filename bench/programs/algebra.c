// algebra [SCALE]
//
// Stands for a computer algebra system: powers of a polynomial in several variables, term by term. Each product of
// two terms is three small blocks (the term, its exponents, the digits of its coefficient), looked up in a hash
// table: nearly all are merged into a term that is there already and freed at once, the others live on; digits
// are reallocated as coefficients grow.
#include "work.h"

enum { VARIABLES = 4, POWER = 10, ROUNDS = 900, BUCKETS = 4096 };

struct term {
    struct term *next;
    uint8_t *exponents;
    uint32_t *digits; // base 2^16, the lowest first
    size_t length;
};

struct polynomial {
    struct term *bucket[BUCKETS];
};

static struct term *term_new(const uint8_t *exponents, const uint32_t *digits, size_t length) {
    struct term *term = need(malloc(sizeof *term));
    term->next = NULL;
    term->exponents = need(malloc(VARIABLES));
    memcpy(term->exponents, exponents, VARIABLES);
    term->digits = need(malloc(length * sizeof *digits));
    memcpy(term->digits, digits, length * sizeof *digits);
    term->length = length;
    return term;
}

static void term_free(struct term *term) {
    free(term->digits);
    free(term->exponents);
    free(term);
}

static void settle(struct term *term) {
    uint32_t carry = 0;
    for (size_t i = 0; i < term->length; i++) {
        carry += term->digits[i];
        term->digits[i] = carry & 0xffff;
        carry >>= 16;
    }
    if (carry) {
        term->digits = need(realloc(term->digits, (term->length + 1) * sizeof carry));
        term->digits[term->length++] = carry;
    }
}

static void add_digits(struct term *to, const struct term *from) {
    if (to->length < from->length) {
        to->digits = need(realloc(to->digits, from->length * sizeof *to->digits));
        memset(to->digits + to->length, 0, (from->length - to->length) * sizeof *to->digits);
        to->length = from->length;
    }
    for (size_t i = 0; i < from->length; i++) {
        to->digits[i] += from->digits[i];
    }
    settle(to);
}

static void add(struct polynomial *sum, struct term *term) {
    size_t hash = 0;
    for (size_t i = 0; i < VARIABLES; i++) {
        hash = hash * 13 + term->exponents[i];
    }
    struct term **at = &sum->bucket[hash % BUCKETS];
    while (*at && memcmp((*at)->exponents, term->exponents, VARIABLES) != 0) {
        at = &(*at)->next;
    }
    if (*at) {
        add_digits(*at, term);
        term_free(term);
    } else {
        *at = term;
    }
}

// The factor is 1 + 2x + 3y + 4z + ...: its n-th term has the n-th variable and the coefficient n + 1.
static struct term *product(const struct term *left, size_t n, size_t round) {
    struct term *term = term_new(left->exponents, left->digits, left->length);
    if (n) {
        term->exponents[n - 1]++;
    }
    for (size_t i = 0; i < term->length; i++) {
        term->digits[i] *= (uint32_t)(n + 1 + round % 64);
    }
    settle(term);
    return term;
}

static uint64_t clear(struct polynomial *all) {
    uint64_t sum = 0;
    for (size_t i = 0; i < BUCKETS; i++) {
        while (all->bucket[i]) {
            struct term *term = all->bucket[i];
            all->bucket[i] = term->next;
            sum = sum * 31 + term->digits[0] + term->length;
            term_free(term);
        }
    }
    return sum;
}

static uint64_t power(size_t round) {
    static struct polynomial both[2];
    static const uint8_t none[VARIABLES];
    struct polynomial *from = &both[0], *to = &both[1];
    uint64_t sum = 0;
    add(from, term_new(none, &(uint32_t){1}, 1));
    for (size_t n = 0; n < POWER; n++) {
        for (size_t i = 0; i < BUCKETS; i++) {
            for (const struct term *term = from->bucket[i]; term; term = term->next) {
                for (size_t factor = 0; factor <= VARIABLES; factor++) {
                    add(to, product(term, factor, round));
                }
            }
        }
        sum = sum * 31 + clear(from);
        struct polynomial *other = from;
        from = to;
        to = other;
    }
    return sum * 31 + clear(from);
}

int main(int argc, char **argv) {
    size_t rounds = scaled(ROUNDS, argc, argv, 1);
    uint64_t sum = 0;
    for (size_t round = 0; round < rounds; round++) {
        sum = sum * 31 + power(round);
    }
    return finish(sum);
}
