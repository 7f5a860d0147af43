/* Arithmetic on sizes and addresses.  `align` is a power of two throughout. */
#ifndef RUNG_BASE_BITS_H
#define RUNG_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

#define KIB ((size_t)1024)
#define MIB (KIB * KIB)

static HOT bool is_pow2(size_t n) {
    return n != 0 && (n & (n - 1)) == 0;
}

static HOT size_t align_down(size_t n, size_t align) {
    return n & ~(align - 1);
}

/* The caller knows that n + align does not overflow. */
static HOT size_t align_up(size_t n, size_t align) {
    return (n + align - 1) & ~(align - 1);
}

static HOT bool is_aligned(size_t n, size_t align) {
    return (n & (align - 1)) == 0;
}

static HOT char *ptr_align_up(const void *p, size_t align) {
    return (char *)align_up((uintptr_t)p, align);
}

static HOT char *ptr_align_down(const void *p, size_t align) {
    return (char *)align_down((uintptr_t)p, align);
}

static HOT bool ptr_is_aligned(const void *p, size_t align) {
    return is_aligned((uintptr_t)p, align);
}

/* floor(log2(n)), n > 0. */
static HOT unsigned log2_floor(size_t n) {
    return (unsigned)(63 - __builtin_clzl(n));
}

static HOT size_t size_min(size_t a, size_t b) {
    return a < b ? a : b;
}

static HOT size_t size_max(size_t a, size_t b) {
    return a > b ? a : b;
}

_Static_assert(sizeof(size_t) == 8 && sizeof(void *) == 8 && sizeof(long) == 8,
               "the layouts below are drawn for 64-bit Linux");

#endif
