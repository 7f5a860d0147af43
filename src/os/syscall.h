/* System calls made directly, for two reasons: the wrappers in libc can be interposed by other
 * preloaded code, which must never run while a lock of ours is held, and they change errno. */
#ifndef RUNG_OS_SYSCALL_H
#define RUNG_OS_SYSCALL_H

#include <sys/syscall.h>

/* Returns what the kernel returned: a value, or -errno in -4095..-1. */
static inline long syscall6(long nr, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
    long ret;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(ret)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return ret;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = nr;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
#else
#error "x86-64 and aarch64 only"
#endif
}

static inline long syscall4(long nr, long a, long b, long c, long d) {
    return syscall6(nr, a, b, c, d, 0, 0);
}

static inline int is_error(long ret) {
    return ret < 0 && ret >= -4095;
}

#endif
