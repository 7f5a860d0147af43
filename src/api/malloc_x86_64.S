/* A hit of malloc and of free, for x86-64: all there is to most calls.  What is no hit leaves for api/malloc.c.
   How it works that nobody comes in between is told in cache/hot.h; api/malloc_any.c says the same in C. */
#include "cache/hot.h"
#if RUNG_RESTARTABLE && defined(__x86_64__)

#include "api/names.h"
#include "chunk/window.h"

    .macro FUNCTION name
    .balign 32
    .globl \name
    .type \name, @function
\name:
    .endm

    .text
    .long RSEQ_SIGNATURE_X86_64
    .globl malloc_hit_aborted
    .hidden malloc_hit_aborted
malloc_hit_aborted:
    jmp NAME(malloc)

/* void *malloc(size_t req) */
    FUNCTION NAME(malloc)
    lea hot+HOT_POP(%rip), %rdx
    cmp HOT_LIMIT-HOT_POP(%rdx), %rdi
    jae malloc_further
    movzbl HOT_BIN_OF-HOT_POP(%rdx,%rdi), %esi
    mov HOT_AREA-HOT_POP(%rdx), %rcx
    mov %rdx, %fs:RSEQ_STEPS(%rcx)
    .globl malloc_hit_first, malloc_hit_end
    .hidden malloc_hit_first, malloc_hit_end
malloc_hit_first:
    movslq %fs:RSEQ_CPU(%rcx), %rcx
    mov HOT_CACHES-HOT_POP(%rdx,%rcx,8), %rcx   /* the cache */
    mov (%rcx,%rsi,8), %rdx                     /* the bin's top */
    mov (%rdx), %rax                            /* the object there */
    test %rax, %rax
    je malloc_further
    subq $8, (%rcx,%rsi,8)
malloc_hit_end:
    ret
    .size NAME(malloc), . - NAME(malloc)

    .long RSEQ_SIGNATURE_X86_64
    .globl free_hit_aborted
    .hidden free_hit_aborted
free_hit_aborted:
    jmp NAME(free)

/* void free(void *mem) */
    FUNCTION NAME(free)
    mov %rdi, %rax
    shr $WINDOW_SHIFT, %rax
    lea window_uses(%rip), %rdx
    cmpb $WINDOW_USE_RUNS, (%rdx,%rax)
    jne free_foreign
    test $15, %dil
    jne free_slow
    mov %rdi, %rdx
    mov %rdi, %rax
    and $-(1 << WINDOW_SHIFT), %rdx
    shr $16, %rax
    and $((1 << (WINDOW_SHIFT - 16)) - 1), %eax
    movzbl (%rdx,%rax), %eax                    /* the bin of the run, or the one that is always full */
    lea hot+HOT_PUSH(%rip), %rdx
    mov HOT_AREA-HOT_PUSH(%rdx), %rcx
    mov %rdx, %fs:RSEQ_STEPS(%rcx)
    .globl free_hit_first, free_hit_end
    .hidden free_hit_first, free_hit_end
free_hit_first:
    movslq %fs:RSEQ_CPU(%rcx), %rcx
    mov HOT_CACHES-HOT_PUSH(%rdx,%rcx,8), %rcx  /* the cache */
    mov (%rcx,%rax,8), %rdx                     /* the bin's top */
    cmp CACHE_FULL(%rcx,%rax,8), %rdx
    jae free_slow
    cmp %rdi, (%rdx)                            /* freed just now? */
    je free_slow
    mov %rdi, 8(%rdx)
    addq $8, (%rcx,%rax,8)
free_hit_end:
    ret
    .size NAME(free), . - NAME(free)

    ALIASES_OF_HITS
    OWN_NAMES_OF_HITS

#endif
    .section .note.GNU-stack, "", @progbits
