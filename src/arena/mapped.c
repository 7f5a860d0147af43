#include "arena/mapped.h"

#include "arena/huge.h"
#include "arena/mapped_cache.h"
#include "arena/unmap.h"
#include "base/counter.h"
#include "chunk/footprint.h"
#include "guard/assert.h"
#include "options/options.h"
#include "options/threshold.h"
#include "os/os.h"

#define OFFSET_HUGE ((size_t)1)

/* In the place of the offset once the chunk is free, for as long as its memory is there: no chunk lies
   so far behind its mapping's start, so that a second free finds it implausible. */
#define OFFSET_FREED (~(size_t)0 & ~(ALIGNMENT - 1))

/* Dirty memory of this size costs more to clear than to exchange for fresh memory, of which perhaps
   only a part is ever touched. */
#define RENEW_FROM (1 * MIB)

static size_t offset_of(const struct chunk *c) {
    return c->foot & ~(ALIGNMENT - 1);
}

static size_t page_of(const struct chunk *c) {
    return (c->foot & OFFSET_HUGE) != 0 ? huge.page : os_facts.page;
}

size_t mapped_total(const struct chunk *c) {
    return offset_of(c) + chunk_size(c) + MAPPED_TAIL;
}

static char *mapping_of(const struct chunk *c) {
    return (char *)c - offset_of(c);
}

static struct chunk *place(char *mapping, size_t total, size_t offset, size_t huge_bit) {
    struct chunk *c = (struct chunk *)(mapping + offset);
    c->foot = offset | huge_bit;
    chunk_set_head(c, (total - offset - MAPPED_TAIL) | IS_MAPPED);
    return c;
}

static void count_mapping(size_t total) {
    counter_add(COUNT_MAPPED_NOW, 1);
    counter_add(COUNT_MAPPED_BYTES, total);
    counter_raise(COUNT_MAPPED_MAX, counter_get(COUNT_MAPPED_NOW));
    counter_raise(COUNT_MAPPED_BYTES_MAX, counter_get(COUNT_MAPPED_BYTES));
}

bool mapped_wanted(size_t csz) {
    return csz >= option(OPT_MMAP_THRESHOLD) && counter_get(COUNT_MAPPED_NOW) < option(OPT_MMAP_MAX);
}

static char *map_counted(size_t len, int huge_flags) {
    char *mapping = footprint_ask(len) ? os_map(len, huge_flags) : NULL;
    if (mapping == NULL)
        footprint_told();
    return mapping;
}

static char *map_huge(size_t *total) {
    size_t whole = align_up(*total, huge.page);
    char *mapping = map_counted(whole, huge.flags);
    if (mapping != NULL)
        *total = whole;
    return mapping;
}

static char *map_fresh(size_t total) {
    char *mapping = map_counted(total, 0);
    if (mapping == NULL && footprint_could_serve(total) && mapped_cache_empty())
        mapping = map_counted(total, 0);
    if (mapping != NULL)
        huge_advise(mapping, total);
    return mapping;
}

/* *dirty: it does not hold zeros alone. */
static char *map_pages(size_t *total, bool want_zero, bool *dirty) {
    *dirty = false;
    *total = align_up(*total, os_facts.page);
    size_t wanted = *total;
    char *mapping = mapped_cache_take(total);
    if (mapping == NULL)
        return map_fresh(*total);
    if (want_zero && *total >= RENEW_FROM) {
        unmap_for_good(mapping, *total);
        *total = wanted;
        return map_fresh(wanted);
    }
    *dirty = true;
    return mapping;
}

struct chunk *mapped_alloc_zero(size_t csz, size_t align, bool want_zero, char **zero_from) {
    unmap_refused();
    size_t total = csz + MAPPED_TAIL;
    if (align > ALIGNMENT)
        total += align;
    if (total < csz || total > REQUEST_MAX)
        return NULL;
    size_t huge_bit = 0;
    bool dirty = false;
    char *mapping = NULL;
    if (huge.page != 0 && total >= huge.page && (mapping = map_huge(&total)) != NULL)
        huge_bit = OFFSET_HUGE;
    else
        mapping = map_pages(&total, want_zero, &dirty);
    if (mapping == NULL)
        return NULL;
    if (!dirty && option(OPT_DECORATE_MAPS) >= 2)
        os_name(mapping, total, "rung: block");
    count_mapping(total);
    footprint_told();
    struct chunk *c = mapped_align(place(mapping, total, 0, huge_bit), align);
    *zero_from = dirty ? mapping + total : mem_of_chunk(c);
    return c;
}

struct chunk *mapped_alloc(size_t csz, size_t align) {
    char *zero_from;
    return mapped_alloc_zero(csz, align, false, &zero_from);
}

struct chunk *mapped_align(struct chunk *c, size_t align) {
    char *mapping = mapping_of(c);
    struct chunk *aligned = chunk_of_mem(ptr_align_up(mem_of_chunk(c), align));
    return place(mapping, mapped_total(c), (size_t)((char *)aligned - mapping), c->foot & OFFSET_HUGE);
}

bool mapped_plausible(const struct chunk *c) {
    uintptr_t mem = (uintptr_t)mem_of_chunk(c);
    uintptr_t in_page = mem & (os_facts.page - 1);
    return offset_of(c) <= (uintptr_t)c && mapped_total(c) > offset_of(c) &&
           (((uintptr_t)mapping_of(c) | mapped_total(c)) & (os_facts.page - 1)) == 0 &&
           (in_page & (in_page - 1)) == 0; /* 16, or a multiple of the alignment asked for */
}

void mapped_free(struct chunk *c) {
    size_t total = mapped_total(c);
    char *mapping = mapping_of(c);
    bool huge_pages = (c->foot & OFFSET_HUGE) != 0;
    counter_sub(COUNT_MAPPED_NOW, 1);
    counter_sub(COUNT_MAPPED_BYTES, total);
    thresholds_age();
    if (huge_pages) {
        unmap_for_good(mapping, total);
    } else {
        c->foot = OFFSET_FREED;
        mapped_cache_put(mapping, total);
    }
}

static char *remap_counted(char *mapping, size_t old_total, size_t total) {
    bool may = total < old_total || footprint_ask(total - old_total);
    char *moved = may ? os_remap(mapping, old_total, total) : NULL;
    if (moved == NULL)
        footprint_told();
    return moved;
}

/* Near a limit, what waits for reuse makes room. */
static char *remap(char *mapping, size_t old_total, size_t total) {
    char *moved = remap_counted(mapping, old_total, total);
    if (moved == NULL && total > old_total && footprint_could_serve(total) && mapped_cache_empty())
        moved = remap_counted(mapping, old_total, total);
    return moved;
}

struct chunk *mapped_resize(struct chunk *c, size_t csz) {
    size_t offset = offset_of(c);
    size_t huge_bit = c->foot & OFFSET_HUGE;
    size_t old_total = mapped_total(c);
    if (csz > REQUEST_MAX - offset - MAPPED_TAIL - page_of(c))
        return NULL;
    size_t total = align_up(offset + csz + MAPPED_TAIL, page_of(c));
    if (total == old_total)
        return c;
    char *mapping = remap(mapping_of(c), old_total, total);
    if (mapping != NULL)
        counter_add(COUNT_MAPPED_BYTES, total - old_total);
    footprint_told();
    if (mapping == NULL)
        return NULL;
    counter_raise(COUNT_MAPPED_BYTES_MAX, counter_get(COUNT_MAPPED_BYTES));
    if (old_total < huge.thp)
        huge_advise(mapping, total);
    return place(mapping, total, offset, huge_bit);
}
