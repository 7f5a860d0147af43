/* The steps of cache/steps.h for x86-64.  A sequence is: say where the steps are, read the number, ..., one
   instruction that makes them count.  When the kernel stops a thread in between, it goes on behind the signature, at
   the beginning again: until the last step nothing has happened, and the arguments are where they were. */
#include "cache/hot.h"
#if RUNG_RESTARTABLE && defined(__x86_64__)

    .macro SEQUENCE name
    .section .data.rel.ro.\name, "aw"
    .balign 32
\name\()_steps:
    .long 0, 0
    .quad \name\()_first, \name\()_end - \name\()_first, \name\()_aborted
    .text
    .long RSEQ_SIGNATURE_X86_64
\name\()_aborted:
    jmp \name
    .balign 16
    .globl \name
    .hidden \name
    .type \name, @function
\name:
    lea hot(%rip), %rcx
    mov HOT_AREA(%rcx), %r10
    lea \name\()_steps(%rip), %rax
    mov %rax, %fs:RSEQ_STEPS(%r10)
\name\()_first:
    movslq %fs:RSEQ_CPU(%r10), %r9
    mov HOT_CACHES(%rcx,%r9,8), %r8
    .endm

/* void *steps_pop(size_t bin) */
    SEQUENCE steps_pop
    mov (%r8,%rdi,8), %rdx
    mov (%rdx), %rax
    test %rax, %rax
    je 1f
    subq $8, (%r8,%rdi,8)
steps_pop_end:
1:  ret
    .size steps_pop, . - steps_pop

/* bool steps_push(size_t bin, void *mem) */
    SEQUENCE steps_push
    xor %eax, %eax
    mov (%r8,%rdi,8), %rdx
    cmp CACHE_FULL(%r8,%rdi,8), %rdx
    jae 1f
    mov %rsi, 8(%rdx)
    mov $1, %eax
    addq $8, (%r8,%rdi,8)
steps_push_end:
1:  ret
    .size steps_push, . - steps_push

/* void *steps_pop_of(int number, size_t bin) */
    SEQUENCE steps_pop_of
    mov $1, %eax
    cmp %r9d, %edi
    jne 1f
    mov (%r8,%rsi,8), %rdx
    mov (%rdx), %rax
    test %rax, %rax
    je 1f
    subq $8, (%r8,%rsi,8)
steps_pop_of_end:
1:  ret
    .size steps_pop_of, . - steps_pop_of

/* bool steps_store_of(int number, void ***word, void **value) */
    SEQUENCE steps_store_of
    mov %rdx, %r8
    xor %eax, %eax
    cmp %r9d, %edi
    jne 1f
    mov $1, %eax
    mov %r8, (%rsi)
steps_store_of_end:
1:  ret
    .size steps_store_of, . - steps_store_of

#endif
    .section .note.GNU-stack, "", @progbits
