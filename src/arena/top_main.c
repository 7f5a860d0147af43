/* The main arena's memory: the program break, and mappings that stand in for it when something
   blocks the break. */
#include "arena/heap.h"
#include "arena/huge.h"
#include "arena/top.h"
#include "guard/assert.h"
#include "options/options.h"
#include "os/os.h"

/* A stand-in is at least this large, so that a blocked break does not cost a call each time. */
#define STAND_IN_MIN (1 * MIB)

/* New memory for the main arena. */
struct extension {
    char *start;
    size_t len;
    bool stand_in;
};

struct main_pieces main_pieces;
struct main_extent main_extent = {.low = UINTPTR_MAX};

/* Lock of the main arena held. */
static void reach(const void *low, const void *high) {
    if ((uintptr_t)low < atomic_load_explicit(&main_extent.low, memory_order_relaxed))
        atomic_store_explicit(&main_extent.low, (uintptr_t)low, memory_order_relaxed);
    if ((uintptr_t)high > atomic_load_explicit(&main_extent.high, memory_order_relaxed))
        atomic_store_explicit(&main_extent.high, (uintptr_t)high, memory_order_relaxed);
}

static void open_piece(struct chunk *first, char *end_of_last) {
    unsigned n = main_pieces.count;
    if (n > MAIN_PIECES)
        return;
    if (n > 0)
        main_pieces.piece[n - 1].end = end_of_last;
    if (n < MAIN_PIECES)
        main_pieces.piece[n].first = first;
    main_pieces.count = n + 1;
}

static void *move_break(intptr_t delta) {
    return huge.no_break || !os_facts.own_break ? NULL : os_break(delta);
}

static size_t growth_unit(void) {
    return huge.thp != 0 ? huge.thp : os_facts.page;
}

/* Row D4: the whole request, since a mapping cannot continue top. */
static bool map_stand_in(size_t len, struct extension *x) {
    len = align_up(len, os_facts.page);
    if (!footprint_ask(len))
        return false;
    char *start = NULL;
    if (huge.page != 0) {
        size_t whole = align_up(len, huge.page);
        start = os_map(whole, huge.flags);
        if (start != NULL)
            len = whole;
    }
    if (start == NULL)
        start = os_map(len, 0);
    if (start == NULL) {
        footprint_told();
        return false;
    }
    if (option(OPT_DECORATE_MAPS) >= 1)
        os_name(start, len, "rung: main arena");
    *x = (struct extension){.start = start, .len = len, .stand_in = true};
    return true;
}

/* Row D1: what is needed, the pad, room for the next top's header, less what top has if the new
   memory will continue it. */
static bool extend_with_pad(struct arena *a, size_t csz, size_t pad, size_t stand_in_min,
                            struct extension *x) {
    size_t need;
    if (__builtin_add_overflow(csz + MIN_CHUNK, pad, &need) || need > REQUEST_MAX - HEAP_MAX)
        return false;
    size_t len = a->contiguous && need > top_size(a) ? need - top_size(a) : need;
    len = align_up(len, growth_unit());
    if (!footprint_ask(len))
        return false;
    char *start = move_break((intptr_t)len);
    if (start != NULL) {
        *x = (struct extension){.start = start, .len = len};
        return true;
    }
    footprint_told();
    return map_stand_in(size_max(need, stand_in_min), x);
}

static bool extend(struct arena *a, size_t csz, struct extension *x) {
    size_t pad = option(OPT_TOP_PAD);
    if (option_origin(OPT_TOP_PAD) == ORIGIN_PROFILE) /* whoever set it meant it */
        pad = size_max(pad, option(OPT_TOP_STEP));
    return extend_with_pad(a, csz, pad, STAND_IN_MIN, x) ||
           extend_with_pad(a, csz, 0, 0, x); /* near a limit: no comfort, but the request */
}

/* Memory that does not continue top: aligns its start to a chunk and its end to a page, and adds
   the `missing` bytes that top was to contribute.  The break has to move once more for that; if it
   will not, we take what there is.  Returns the usable bytes. */
static size_t fit_ends(struct extension *x, size_t missing) {
    char *start = ptr_align_up(x->start, ALIGNMENT);
    char *end = x->start + x->len;
    if (!x->stand_in) {
        char *wanted = ptr_align_up(end + (start - x->start) + missing, os_facts.page);
        if (wanted > end && os_break(wanted - end) == end)
            end = wanted;
    }
    x->start = start;
    return align_down((size_t)(end - start), ALIGNMENT);
}

bool top_grow_main(struct arena *a, size_t csz, struct chunk **orphan) {
    struct chunk *old = a->top;
    size_t old_size = top_size(a);
    char *old_end = old != NULL ? (char *)old + old_size : NULL;
    bool was_contiguous = a->contiguous;
    struct extension x;
    if (!extend(a, csz, &x))
        return false;
    huge_advise(x.start, x.len);
    a->contiguous = was_contiguous && !x.stand_in;
    if (old != NULL && x.start == old_end) { /* the normal case */
        arena_grew(a, x.len);
        top_set(a, old, old_size + x.len);
        reach(old, old_end + x.len);
        return top_size(a) >= csz + MIN_CHUNK;
    }
    if (old != NULL && a->contiguous && x.start < old_end)
        die(MSG_BREAK_MOVED, x.start, 0);
    /* A gap is a foreign sbrk's, and counted as ours, like the bytes lost to alignment. */
    char *counted_from = old != NULL && a->contiguous ? old_end : x.start;
    size_t usable = fit_ends(&x, a->contiguous ? old_size : 0);
    arena_grew(a, (size_t)(x.start + usable - counted_from));
    if (old != NULL)
        *orphan = top_fence_off(old, old_size);
    open_piece((struct chunk *)x.start, old_end);
    reach(x.start, x.start + usable);
    top_set(a, (struct chunk *)x.start, usable);
    /* The rest of a page that somebody else's memory ends in may have been theirs. */
    a->dirty_end = ptr_align_up(x.start, os_facts.page);
    if (a->dirty_end < x.start + HEADER)
        a->dirty_end = x.start + HEADER;
    a->top_touched = x.start + HEADER;
    return usable >= csz + MIN_CHUNK;
}

SLOW bool top_trim_main(struct arena *a, size_t pad) {
    size_t have = top_size(a);
    size_t less = top_excess(have, pad, growth_unit());
    if (less == 0)
        return false;
    /* Only if the end of memory is where this arena left it: there may have been a foreign sbrk, or
       top may lie in a stand-in. */
    char *end = (char *)a->top + have;
    if (move_break(0) != end || move_break(-(intptr_t)less) == NULL)
        return false;
    arena_shrank(a, less);
    top_set(a, a->top, have - less);
    /* The kernel forgets what lay in whole pages there: they will come back as zeros. */
    char *zero_from = ptr_align_up(end - less, os_facts.page);
    if (a->dirty_end > zero_from)
        a->dirty_end = zero_from;
    return true;
}
