/* Whether threads' steps are restarted here (base/rseq.h). */
#include "base/counter.h"
#include "base/rseq.h"
#include "os/os.h"
#include "os/syscall.h"

/* Weak: other libcs, and glibc before 2.35, have none. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned __rseq_size __attribute__((weak));

bool os_restartable(ptrdiff_t *area) {
    enum { NEEDED = 20 }; /* the kernel's first struct rseq, without its padding */
    if (&__rseq_offset == NULL || &__rseq_size == NULL || __rseq_size < NEEDED)
        return false;
    *area = __rseq_offset;
    return rseq_number(__rseq_offset) >= 0; /* negative: the kernel does not know of it */
}

size_t os_cpu_numbers(void) {
    unsigned long set[1024 / sizeof(long)] = {0};
    counter_add(COUNT_SYS_OTHER, 1);
    long bytes = syscall4(SYS_sched_getaffinity, 0, sizeof set, (long)set, 0);
    return bytes > 0 ? (size_t)bytes * 8 : 0; /* of its own mask, which has a bit a number */
}
