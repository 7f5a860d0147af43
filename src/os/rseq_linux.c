/* Restartable steps: what libc and the kernel have agreed upon (linux/rseq.h, sys/rseq.h of glibc 2.35). */
#include "base/counter.h"
#include "os/os.h"
#include "os/syscall.h"

/* Weak: other libcs, and glibc before 2.35, have none. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned __rseq_size __attribute__((weak));

bool os_restartable(ptrdiff_t *area) {
    enum { CPU = 4, NEEDED = 20 };
    if (&__rseq_offset == NULL || &__rseq_size == NULL || __rseq_size < NEEDED)
        return false;
#if defined(__x86_64__) && defined(__LP64__)
    char *tp;
    __asm__("mov %%fs:0, %0" : "=r"(tp));
#else
    char *tp = __builtin_thread_pointer();
#endif
    *area = __rseq_offset;
    return *(volatile int *)(tp + __rseq_offset + CPU) >= 0; /* negative: the kernel does not know of it */
}

size_t os_cpu_numbers(void) {
    unsigned long set[1024 / sizeof(long)] = {0};
    counter_add(COUNT_SYS_OTHER, 1);
    long bytes = syscall4(SYS_sched_getaffinity, 0, sizeof set, (long)set, 0);
    return bytes > 0 ? (size_t)bytes * 8 : 0; /* of its own mask, which has a bit a number */
}
