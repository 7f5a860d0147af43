/* Restartable sequences, as the kernel (linux/rseq.h) and libc (sys/rseq.h of glibc 2.35) have agreed on them: what
 * lies in a thread's area, for C and for the assembler.
 *
 *   area -> +---------------+-------------+---------------------------+
 *           | cpu, a guess  | cpu         | where the steps are       |
 *           +---------------+-------------+---------------------------+
 *           0               4             8                          16 */
#ifndef RUNG_BASE_RSEQ_H
#define RUNG_BASE_RSEQ_H

#define RSEQ_CPU 4
#define RSEQ_STEPS 8

/* What libc told the kernel to expect in front of an abort handler. */
#define RSEQ_SIGNATURE_X86_64 0x53053053
#define RSEQ_SIGNATURE_AARCH64 0xd428bc00

#ifndef __ASSEMBLER__

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* An area that the kernel knows nothing of begins the same. */
struct rseq_area {
    uint32_t guess;
    int32_t number;
    uint64_t steps;
};

_Static_assert(offsetof(struct rseq_area, number) == RSEQ_CPU && offsetof(struct rseq_area, steps) == RSEQ_STEPS,
               "the assembler's words for it");

/* Areas are found from here. */
#if defined(__x86_64__) && defined(__LP64__)
static HOT char *thread_pointer(void) {
    char *tp;
    __asm__("mov %%fs:0, %0" : "=r"(tp));
    return tp;
}
#else
static HOT char *thread_pointer(void) {
    return __builtin_thread_pointer();
}
#endif

/* What the calling thread's area, so far from its thread pointer, says: the CPU it is on, or its seat; negative:
   nothing. */
static HOT int rseq_number(ptrdiff_t area) {
    return ((volatile struct rseq_area *)(thread_pointer() + area))->number;
}

#endif
#endif
