/* The steps of cache/steps.h for aarch64; see cache/steps_x86_64.S. */
#include "cache/hot.h"
#if RUNG_RESTARTABLE && defined(__aarch64__)

    .macro SEQUENCE name
    .section .data.rel.ro.\name, "aw"
    .balign 32
\name\()_steps:
    .word 0, 0
    .xword \name\()_first, \name\()_end - \name\()_first, \name\()_aborted
    .text
    .inst RSEQ_SIGNATURE_AARCH64
\name\()_aborted:
    b \name
    .balign 16
    .globl \name
    .hidden \name
    .type \name, %function
\name:
    adrp x9, hot
    add x9, x9, :lo12:hot
    ldr x10, [x9, HOT_AREA]
    mrs x11, tpidr_el0
    add x10, x10, x11
    adrp x11, \name\()_steps
    add x11, x11, :lo12:\name\()_steps
    str x11, [x10, RSEQ_STEPS]
\name\()_first:
    ldrsw x10, [x10, RSEQ_CPU]
    add x9, x9, HOT_CACHES
    ldr x9, [x9, x10, lsl 3]
    .endm

/* void *steps_pop(size_t bin) */
    SEQUENCE steps_pop
    ldr x12, [x9, x0, lsl 3]
    ldr x11, [x12]
    cbz x11, 1f
    sub x12, x12, 8
    str x12, [x9, x0, lsl 3]
steps_pop_end:
1:  mov x0, x11
    ret
    .size steps_pop, . - steps_pop

/* bool steps_push(size_t bin, void *mem) */
    SEQUENCE steps_push
    ldr x12, [x9, x0, lsl 3]
    add x13, x9, CACHE_FULL
    ldr x13, [x13, x0, lsl 3]
    mov w11, 0
    cmp x12, x13
    b.hs 1f
    str x1, [x12, 8]!
    mov w11, 1
    str x12, [x9, x0, lsl 3]
steps_push_end:
1:  mov w0, w11
    ret
    .size steps_push, . - steps_push

/* void *steps_pop_of(int number, size_t bin) */
    SEQUENCE steps_pop_of
    mov x11, 1
    cmp w10, w0
    b.ne 1f
    ldr x12, [x9, x1, lsl 3]
    ldr x11, [x12]
    cbz x11, 1f
    sub x12, x12, 8
    str x12, [x9, x1, lsl 3]
steps_pop_of_end:
1:  mov x0, x11
    ret
    .size steps_pop_of, . - steps_pop_of

/* bool steps_store_of(int number, void ***word, void **value) */
    SEQUENCE steps_store_of
    mov w11, 0
    cmp w10, w0
    b.ne 1f
    mov w11, 1
    str x2, [x1]
steps_store_of_end:
1:  mov w0, w11
    ret
    .size steps_store_of, . - steps_store_of

#endif
    .section .note.GNU-stack, "", %progbits
