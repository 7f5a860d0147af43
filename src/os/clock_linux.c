/* The kernel maps a small shared object into every process, whose clock_gettime reads the time from a
 * page that the kernel keeps up to date.  libc would find it for us, but its clock_gettime can be
 * interposed, so it is looked up here: by name, in the object's dynamic symbols. */
#include "os/clock.h"

#include <elf.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>

#include "os/os.h"
#include "os/syscall.h"

#if defined(__x86_64__)
static const char name[] = "__vdso_clock_gettime";
#else
static const char name[] = "__kernel_clock_gettime";
#endif

static int (*shared_clock)(clockid_t, struct timespec *);

/* What of the object's tables the search needs. */
struct tables {
    const Elf64_Sym *symbols;
    const char *strings;
    const Elf64_Word *hash; /* its second word is the number of symbols */
};

/* Addresses in the object are relative to where its first segment was meant to lie. */
static void read_dynamic(const Elf64_Dyn *d, const char *base, struct tables *t) {
    for (; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB)
            t->symbols = (const Elf64_Sym *)(base + d->d_un.d_ptr);
        else if (d->d_tag == DT_STRTAB)
            t->strings = base + d->d_un.d_ptr;
        else if (d->d_tag == DT_HASH)
            t->hash = (const Elf64_Word *)(base + d->d_un.d_ptr);
    }
}

void clock_find(void) {
    const char *object = (const char *)getauxval(AT_SYSINFO_EHDR);
    if (object == NULL)
        return;
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)object;
    const Elf64_Phdr *segment = (const Elf64_Phdr *)(object + head->e_phoff);
    const char *base = NULL;
    for (int i = 0; i < head->e_phnum && base == NULL; i++)
        if (segment[i].p_type == PT_LOAD)
            base = object + segment[i].p_offset - segment[i].p_vaddr;
    struct tables t = {0};
    for (int i = 0; i < head->e_phnum && base != NULL; i++)
        if (segment[i].p_type == PT_DYNAMIC)
            read_dynamic((const Elf64_Dyn *)(object + segment[i].p_offset), base, &t);
    if (t.symbols == NULL || t.strings == NULL || t.hash == NULL)
        return;
    for (Elf64_Word i = 0; i < t.hash[1]; i++)
        if (t.symbols[i].st_shndx != SHN_UNDEF && strcmp(t.strings + t.symbols[i].st_name, name) == 0)
            shared_clock = (int (*)(clockid_t, struct timespec *))(base + t.symbols[i].st_value);
}

uint64_t os_clock_us(void) {
    struct timespec now = {0};
    if (shared_clock == NULL || shared_clock(CLOCK_MONOTONIC, &now) != 0)
        (void)syscall4(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* A third to a whole millisecond. */
#define STALE_CYCLES ((uint64_t)1 << 20)

/* A counter that all CPUs have and that costs no call; nothing is read from it but that little time has
   passed.  Where there is none, each question is a call. */
static uint64_t cycles(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t n;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(n));
    return n << 6; /* at 25 to 50 MHz mostly; a processor's cycles are meant */
#else
    static _Atomic uint64_t asked;
    return asked += STALE_CYCLES + 1;
#endif
}

uint64_t os_recent_us(void) {
    static _Atomic uint64_t at_cycles, at_us;
    uint64_t now = cycles();
    uint64_t us = atomic_load_explicit(&at_us, memory_order_relaxed);
    if (us != 0 && now - atomic_load_explicit(&at_cycles, memory_order_relaxed) < STALE_CYCLES)
        return us;
    us = os_clock_us();
    atomic_store_explicit(&at_cycles, now, memory_order_relaxed);
    atomic_store_explicit(&at_us, us, memory_order_relaxed);
    return us;
}
