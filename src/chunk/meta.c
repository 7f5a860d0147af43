#include "chunk/meta.h"

#include <stdatomic.h>
#include <string.h>

#include "base/bits.h"
#include "base/counter.h"
#include "chunk/footprint.h"
#include "guard/assert.h"
#include "os/os.h"

enum {
    CACHE_LINE = 64,
    BUILT_IN = 16 * 1024,  /* bytes that are part of the library: some twenty thread caches */
    GROWTH = 64 * 1024,    /* bytes mapped at a time afterwards */
    REUSED_MOST = 8192,    /* bytes of the largest block that can be given back */
    SIZE_CLASSES = REUSED_MOST / CACHE_LINE + 1,
};

/* A block that was given back, in the list of its size. */
struct spare {
    struct spare *next;
};

struct lock meta_lock = LOCK_INIT(RANK_META);

/* All guarded by meta_lock.  Page-aligned, so that a user's data never shares a page with it. */
static _Alignas(4096) char built_in[BUILT_IN];
static struct meta_block first_block = {.start = built_in, .bytes = BUILT_IN};
struct meta_block *_Atomic meta_blocks = &first_block;
static char *fresh = built_in;                 /* never used: zero */
static char *fresh_end = built_in + BUILT_IN;
static struct spare *spares[SIZE_CLASSES];

static size_t round_size(size_t size) {
    return align_up(size, CACHE_LINE);
}

static void *take_spare(size_t size) {
    size_t class = size / CACHE_LINE;
    if (class >= SIZE_CLASSES || spares[class] == NULL)
        return NULL;
    struct spare *s = spares[class];
    spares[class] = s->next;
    return s;
}

/* Whoever is refused does without, and nobody need hear of it. */
static bool may_map(size_t len) {
    uint8_t due = self.due;
    if (footprint_ask(len))
        return true;
    self.due = due;
    return false;
}

static char *map_more(size_t len) {
    char *more = may_map(len) ? os_map(len, 0) : NULL;
    if (more != NULL)
        counter_add(COUNT_META_MAPPED, len);
    footprint_told();
    return more;
}

static void *take_fresh(size_t size) {
    if ((size_t)(fresh_end - fresh) < size) {
        size_t front = round_size(sizeof(struct meta_block));
        size_t len = align_up(size_max(front + size, GROWTH), os_facts.page);
        char *more = map_more(len);
        if (more == NULL)
            return NULL;
        struct meta_block *b = (struct meta_block *)more;
        *b = (struct meta_block){.start = more, .bytes = len, .older = meta_blocks};
        atomic_store_explicit(&meta_blocks, b, memory_order_release);
        fresh = more + front; /* what was left of the old block is less than one structure */
        fresh_end = more + len;
    }
    void *p = fresh;
    fresh += size;
    return p;
}

void *meta_alloc(size_t size) {
    void *p = meta_alloc_dirty(size);
    return p != NULL ? memset(p, 0, size) : NULL;
}

void *meta_alloc_dirty(size_t size) {
    size = round_size(size);
    if (!lock_take(&meta_lock))
        return NULL;
    void *p = take_spare(size);
    if (p == NULL)
        p = take_fresh(size);
    lock_release(&meta_lock);
    if (p != NULL)
        counter_add(COUNT_META_BYTES, size);
    return p;
}

void meta_free(void *p, size_t size) {
    size = round_size(size);
    size_t class = size / CACHE_LINE;
    assert_argument(class < SIZE_CLASSES);
    if (!lock_take(&meta_lock))
        return;
    struct spare *s = p;
    s->next = spares[class];
    spares[class] = s;
    lock_release(&meta_lock);
    counter_sub(COUNT_META_BYTES, size);
}
