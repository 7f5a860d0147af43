/* What the allocator keeps for the calling thread: all of it, in one 64-byte block. */
#ifndef RUNG_BASE_SELF_H
#define RUNG_BASE_SELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/rseq.h"

struct tcache;
struct arena;

/* Where a thread stands with the allocator (see life/thread.c). */
enum thread_stage {
    THREAD_NEW = 0,    /* never came past the hot path */
    THREAD_KNOWN,      /* its exit will be noticed */
    THREAD_GONE,       /* torn down; later calls are served without a cache and without binding */
};

/* How a thread fares with the lock of its arena (arena/waiting.h). */
struct waiting {
    struct arena *watched; /* another arena, whose lock it looks at whenever it has to wait; or NULL */
    uint64_t began_us;     /* a stretch: the waits since then... */
    uint64_t acquired;     /* ... and what its arena's lock had counted by then */
    uint64_t waited;
    unsigned threads; /* that were bound to its arena then */
    unsigned waits;
    unsigned taken; /* in how many of them the watched lock was taken */
    bool enough;    /* after a bad stretch: it shall have another arena */
    bool quiet;     /* ... and this is what the watched one was in it */
};

/* What must not be lost with a thread that ends without our noticing (life/thread.c). */
struct thread_record {
    struct self *owner; /* an address; the storage behind it is gone when the thread is */
    struct thread_record *next;
    struct arena *arena;
    struct tcache *tcache;
    int seat; /* its number; -1: it has none */
    struct waiting waiting;
};

struct self {
    struct rseq_area area; /* its number is that of the thread's seat, -1: it has none; cache/hot.h */
    struct tcache *tcache; /* never NULL: the cache in front of arenas, or one of the two empty ones */
    struct arena *arena;   /* the arena it is bound to; NULL before the first slow malloc */
    struct thread_record *record; /* NULL: the thread is not known, or there was no memory for one */
    uint32_t held;         /* debug: bit r is set while a lock of rank r is held */
    uint8_t stage;         /* enum thread_stage */
    uint8_t exit_rounds;   /* how often the exit hook has put itself off */
    uint8_t due;           /* what it shall do once it holds no lock (chunk/footprint.h) */
    size_t asked;          /* bytes it is about to take (chunk/footprint.h) */
};

/* Lives in cache/tcache.c, whose empty cache it starts out pointing at. */
extern __thread struct self self TLS_INITIAL_EXEC HIDDEN;

_Static_assert(sizeof(struct self) <= 64, "static TLS: see TLS_INITIAL_EXEC");

#endif
