/* A hit of malloc and of free, for aarch64; see api/malloc_x86_64.S. */
#include "cache/hot.h"
#if RUNG_RESTARTABLE && defined(__aarch64__)

#include "api/names.h"
#include "chunk/window.h"

    .macro FUNCTION name
    .balign 32
    .globl \name
    .type \name, %function
\name:
    .endm

    .text
    .inst RSEQ_SIGNATURE_AARCH64
    .globl malloc_hit_aborted
    .hidden malloc_hit_aborted
malloc_hit_aborted:
    b NAME(malloc)

/* void *malloc(size_t req) */
    FUNCTION NAME(malloc)
    adrp x3, hot
    add x3, x3, :lo12:hot
    ldr x4, [x3, HOT_LIMIT]
    cmp x0, x4
    b.hs 1f
    add x5, x3, HOT_BIN_OF
    ldrb w5, [x5, x0]
    ldr x4, [x3, HOT_AREA]
    mrs x6, tpidr_el0
    add x4, x4, x6
    str x3, [x4, RSEQ_STEPS]
    .globl malloc_hit_first, malloc_hit_end
    .hidden malloc_hit_first, malloc_hit_end
malloc_hit_first:
    ldrsw x6, [x4, RSEQ_CPU]
    add x7, x3, HOT_CACHES
    ldr x6, [x7, x6, lsl 3]             /* the cache */
    ldr x7, [x6, x5, lsl 3]             /* the bin's top */
    ldr x1, [x7]                        /* the object there */
    cbz x1, 1f
    sub x7, x7, 8
    str x7, [x6, x5, lsl 3]
malloc_hit_end:
    mov x0, x1
    ret
1:  b malloc_further
    .size NAME(malloc), . - NAME(malloc)

    .inst RSEQ_SIGNATURE_AARCH64
    .globl free_hit_aborted
    .hidden free_hit_aborted
free_hit_aborted:
    b NAME(free)

/* void free(void *mem) */
    FUNCTION NAME(free)
    adrp x2, window_uses
    add x2, x2, :lo12:window_uses
    ubfx x1, x0, WINDOW_SHIFT, 48 - WINDOW_SHIFT
    ldrb w1, [x2, x1]
    cmp w1, WINDOW_USE_RUNS
    b.ne 1f
    tst x0, 15
    b.ne 2f
    and x2, x0, -(1 << WINDOW_SHIFT)
    ubfx x1, x0, 16, WINDOW_SHIFT - 16
    ldrb w5, [x2, x1]                   /* the bin of the run, or the one that is always full */
    adrp x3, hot + HOT_PUSH
    add x3, x3, :lo12:hot + HOT_PUSH
    ldr x4, [x3, HOT_AREA - HOT_PUSH]
    mrs x6, tpidr_el0
    add x4, x4, x6
    str x3, [x4, RSEQ_STEPS]
    .globl free_hit_first, free_hit_end
    .hidden free_hit_first, free_hit_end
free_hit_first:
    ldrsw x6, [x4, RSEQ_CPU]
    add x7, x3, HOT_CACHES - HOT_PUSH
    ldr x6, [x7, x6, lsl 3]             /* the cache */
    ldr x7, [x6, x5, lsl 3]             /* the bin's top */
    add x1, x6, CACHE_FULL
    ldr x1, [x1, x5, lsl 3]
    cmp x7, x1
    b.hs 2f
    ldr x1, [x7]
    cmp x1, x0                          /* freed just now? */
    b.eq 2f
    str x0, [x7, 8]!
    str x7, [x6, x5, lsl 3]
free_hit_end:
    ret
1:  b free_foreign
2:  b free_slow
    .size NAME(free), . - NAME(free)

    ALIASES_OF_HITS
    OWN_NAMES_OF_HITS

#endif
    .section .note.GNU-stack, "", %progbits
