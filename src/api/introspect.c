/* What the interface lets a program ask about its memory (row E4). */
#include <errno.h>
#include <pthread.h>

#include "api/names.h"
#include "arena/arenas.h"
#include "arena/mapped.h"
#include "base/counter.h"
#include "chunk/chunk.h"
#include "guard/fatal.h"
#include "life/start.h"
#include "report/print.h"
#include "runs/block.h"

/* 0 for a block that is not in use, as far as that can be seen. */
EXPORT size_t NAME(malloc_usable_size)(void *mem) {
    if (mem == NULL)
        return 0;
    if (in_run_window(mem)) {
        size_t size = headless_size(mem);
        if (UNLIKELY(size == 0))
            die(MSG_USABLE_POINTER, mem, 0);
        return size;
    }
    struct chunk *c = chunk_of_mem(mem);
    if (UNLIKELY(!ptr_is_aligned(mem, ALIGNMENT)))
        die(MSG_USABLE_POINTER, mem, 0);
    if (UNLIKELY(is_mapped(c) ? !mapped_plausible(c) : !arena_may_hold(c)))
        die(MSG_USABLE_POINTER, mem, chunk_head(c));
    if (UNLIKELY(chunk_size(c) < MIN_CHUNK))
        die(MSG_USABLE_POINTER, mem, chunk_head(c));
    return is_mapped(c) || chunk_inuse(c) ? usable_of_chunk_size(chunk_size(c)) : 0;
}

EXPORT struct mallinfo2 NAME(mallinfo2)(void) {
    struct totals sum;
    start();
    snapshot_totals(&sum);
    return (struct mallinfo2){
        .arena = sum.system,
        .ordblks = sum.free_chunks,
        .hblks = counter_get(COUNT_MAPPED_NOW),
        .hblkhd = counter_get(COUNT_MAPPED_BYTES),
        .uordblks = sum.system - sum.free_bytes,
        .fordblks = sum.free_bytes,
        .keepcost = sum.main_top_bytes,
    };
}

/* The old form, whose fields overflow. */
EXPORT struct mallinfo NAME(mallinfo)(void) {
    struct mallinfo2 m = NAME(mallinfo2)();
    return (struct mallinfo){
        .arena = (int)m.arena,
        .ordblks = (int)m.ordblks,
        .hblks = (int)m.hblks,
        .hblkhd = (int)m.hblkhd,
        .uordblks = (int)m.uordblks,
        .fordblks = (int)m.fordblks,
        .keepcost = (int)m.keepcost,
    };
}

static void print(FILE *out, const struct text *t) {
    fwrite(t->buf, 1, t->len, out);
}

/* A report is printed arena by arena: collect under the lock, print without it. */
static void report(FILE *out, void (*arena)(struct text *, const struct arena_snapshot *),
                   void (*close)(struct text *, const struct totals *)) {
    char buf[PRINT_MAX];
    struct totals sum = {0};
    struct arena *a = &main_arena;
    do {
        struct arena_snapshot s;
        struct text t = text_in(buf, sizeof buf);
        snapshot_arena(a, &s);
        totals_add(&sum, &s);
        arena(&t, &s);
        print(out, &t);
        a = atomic_load_explicit(&a->next, memory_order_acquire);
    } while (a != &main_arena);
    totals_add_runs(&sum);
    struct text t = text_in(buf, sizeof buf);
    close(&t, &sum);
    print(out, &t);
}

EXPORT int NAME(malloc_info)(int options, FILE *out) {
    if (options != 0)
        return EINVAL;
    char buf[64];
    struct text t = text_in(buf, sizeof buf);
    start();
    xml_open(&t);
    print(out, &t);
    report(out, xml_arena, xml_close);
    return 0;
}

EXPORT void NAME(malloc_stats)(void) {
    /* Printing is where a pending cancellation would end the thread, in the middle of the report. */
    int cancel;
    start();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    report(stderr, stats_arena, stats_close);
    pthread_setcancelstate(cancel, &cancel);
}

/* libc's header calls it deprecated, which it is; the name is still owed. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
ALIAS(__libc_mallinfo, mallinfo);
