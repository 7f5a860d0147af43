/* Windows: 64 MiB of address space at a multiple of 64 MiB, so that one mask leads from any address
   inside to the window's head; and the map that says what each window of the process is used for.
   Sub-heaps (arena/heap.h) and runs (runs/run.h) live in windows. */
#ifndef RUNG_CHUNK_WINDOW_H
#define RUNG_CHUNK_WINDOW_H

#define WINDOW_SHIFT 26
#define WINDOW_USE_RUNS 2 /* WINDOW_RUNS, for the assembler */

#ifndef __ASSEMBLER__

#include <stdatomic.h>

#include "base/bits.h"

#define WINDOW ((size_t)1 << WINDOW_SHIFT)

enum window_use {
    WINDOW_FOREIGN = 0, /* not ours, or the break's, or mapped chunks' */
    WINDOW_HEAP,
    WINDOW_RUNS = WINDOW_USE_RUNS,
};

/* One byte a window of the 48-bit address space.  A process touches a page or two of it.  Read without a
   lock: a window's byte is written before anything in it is handed out, and after all of it came back. */
enum { WINDOW_COUNT = 1 << (48 - WINDOW_SHIFT) };
extern uint8_t window_uses[WINDOW_COUNT] HIDDEN;

/* p may be anything that could be dereferenced. */
static HOT enum window_use window_use_of(const void *p) {
    return (enum window_use)window_uses[((uintptr_t)p >> WINDOW_SHIFT) % WINDOW_COUNT];
}

static HOT void *window_of(const void *p) {
    return ptr_align_down(p, WINDOW);
}

/* A window, reserved and not accessible, its first `committed` bytes (whole pages) accessible.
   NULL: the kernel has no more. */
void *window_create(enum window_use use, size_t committed, const char *name);

/* The address space of all windows together. */
size_t window_bytes(void);

/* Returns a window to the kernel; false: it stays, unchanged. */
bool window_destroy(void *window);

#endif
#endif
