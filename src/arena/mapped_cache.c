#include "arena/mapped_cache.h"

#include <string.h>

#include "arena/unmap.h"
#include "base/counter.h"
#include "chunk/footprint.h"
#include "chunk/purger.h"
#include "guard/assert.h"
#include "guard/fatal.h"
#include "options/keep.h"
#include "options/options.h"
#include "os/os.h"

enum {
    KEPT_MAX = 64, /* mappings */
    STEP = 4,      /* those that one call gives back because of their age */
};

struct mapping {
    char *start;
    size_t len;
    uint64_t at; /* when it was freed */
};

/* What leaves the record is unmapped behind the lock. */
struct leaving {
    unsigned count;
    struct mapping m[KEPT_MAX + 1];
};

struct lock mapped_cache_lock = LOCK_INIT(RANK_MAPPED);

/* Guarded by the lock.  The coldest first. */
static struct mapping kept[KEPT_MAX];
static unsigned kept_count;
static struct keep keep;
static size_t gone; /* bytes given back lately because they exceeded the allowance */
static uint64_t gone_at;

static bool is_on(void) {
    return option(OPT_MAP_KEEP) != 0 && !os_facts.strict_commit && !os_facts.secure;
}

static size_t kept_bytes(void) {
    return counter_get(COUNT_MAPPED_KEPT);
}

static size_t share(void) {
    return keep_share(counter_get(COUNT_MAPPED_BYTES), option(OPT_MAP_KEEP));
}

/* ---- the record; lock held ---- */

static void add(struct mapping m) {
    unsigned i = kept_count++;
    for (; i > 0 && kept[i - 1].at > m.at; i--)
        kept[i] = kept[i - 1];
    kept[i] = m;
    counter_add(COUNT_MAPPED_KEPT, m.len);
}

static struct mapping remove_at(unsigned i) {
    struct mapping m = kept[i];
    kept_count--;
    memmove(&kept[i], &kept[i + 1], (kept_count - i) * sizeof kept[0]);
    counter_sub(COUNT_MAPPED_KEPT, m.len);
    return m;
}

static void let_go(struct leaving *out, unsigned i) {
    out->m[out->count++] = remove_at(i);
}

/* A purge_delay of 0 is for ever. */
static uint64_t purge_delay_us(void) {
    size_t delay = option(OPT_PURGE_DELAY);
    return delay != 0 ? (uint64_t)delay * 1000 : UINT64_MAX;
}

static void let_old_go(struct leaving *out, uint64_t now) {
    uint64_t delay = purge_delay_us();
    for (int i = 0; i < STEP && kept_count > 0; i++) {
        if (now <= kept[0].at || now - kept[0].at <= delay)
            break;
        let_go(out, 0);
    }
}

static void note_gone(size_t bytes, uint64_t now) {
    if (now - gone_at > KEEP_SOON_US)
        gone = 0;
    gone += bytes;
    gone_at = now;
}

/* A second free of the same mapping that went unnoticed so far (mapped_free marks what is free). */
static void check_apart(const struct mapping *m) {
    for (unsigned i = 0; i < kept_count; i++)
        if (UNLIKELY(m->start < kept[i].start + kept[i].len && kept[i].start < m->start + m->len))
            die(MSG_MUNMAP, m->start, m->len);
}

/* Neighbours of nearly the same age become one, which is as old as the older: what nobody wants must
   not be renewed by the comings and goings beside it. */
static bool mergeable(const struct mapping *m, const struct mapping *k) {
    uint64_t apart = m->at > k->at ? m->at - k->at : k->at - m->at;
    return (m->start + m->len == k->start || k->start + k->len == m->start) &&
           apart <= purge_delay_us() / 4;
}

static struct mapping merge_neighbours(struct mapping m) {
    for (unsigned i = 0; i < kept_count;) {
        struct mapping k = kept[i];
        if (!mergeable(&m, &k)) {
            i++;
            continue;
        }
        remove_at(i);
        m.start = m.start < k.start ? m.start : k.start;
        m.len += k.len;
        m.at = m.at < k.at ? m.at : k.at;
        i = 0; /* there are two sides */
    }
    return m;
}

/* The smallest that is large enough; kept_count: none. */
static unsigned best_fit(size_t total) {
    unsigned best = kept_count;
    for (unsigned i = 0; i < kept_count; i++)
        if (kept[i].len >= total && (best == kept_count || kept[i].len < kept[best].len))
            best = i;
    return best;
}

static char *take(size_t *total, uint64_t now) {
    unsigned i = best_fit(*total);
    if (i == kept_count) {
        size_t wanted_back = size_min(gone, *total);
        if (wanted_back == 0)
            return NULL;
        gone -= wanted_back;
        (void)keep_regret(&keep, wanted_back, gone_at, now);
        counter_add(COUNT_MAPPED_REGRETS, 1);
        return NULL;
    }
    if (kept_bytes() > share())
        keep_confirm(&keep, *total, now);
    counter_add(COUNT_MAPPED_HITS, 1);
    char *start = kept[i].start;
    if (kept[i].len - *total <= *total / 8) {
        *total = remove_at(i).len;
    } else { /* too much to waste: the rest waits on */
        kept[i].start += *total;
        kept[i].len -= *total;
        counter_sub(COUNT_MAPPED_KEPT, *total);
    }
    return start;
}

/* The coldest goes, or as much of its end as is needed, if it is much larger (several were merged). */
static size_t make_room(struct leaving *out, size_t needed) {
    size_t len = align_up(needed, os_facts.page);
    struct mapping *k = &kept[0];
    if (kept_count == KEPT_MAX || k->len < 2 * len) {
        len = k->len;
        let_go(out, 0);
    } else {
        k->len -= len;
        counter_sub(COUNT_MAPPED_KEPT, len);
        out->m[out->count++] = (struct mapping){k->start + k->len, len, k->at};
    }
    return len;
}

static void put(struct mapping m, struct leaving *out) {
    size_t in_use = counter_get(COUNT_MAPPED_BYTES);
    keep_saw(&keep, in_use + m.len, m.at);
    size_t limit = keep_limit_with_holes(&keep, in_use, option(OPT_MAP_KEEP), m.at);
    limit = size_min(limit, footprint_may_keep(kept_bytes()));
    check_apart(&m);
    bool stays = m.len <= limit;
    if (!stays) { /* the colder ones need not make way for it in vain */
        note_gone(m.len, m.at);
        out->m[out->count++] = m;
        m.len = 0;
    }
    while (kept_count == KEPT_MAX || (kept_count > 0 && kept_bytes() + m.len > limit))
        note_gone(make_room(out, limit < kept_bytes() + m.len ? kept_bytes() + m.len - limit : 0), m.at);
    if (stays) {
        add(merge_neighbours(m));
        purger_nudge();
    }
}

/* ---- for the others ---- */

static void unmap_all(const struct leaving *out) {
    for (unsigned i = 0; i < out->count; i++) {
        counter_add(COUNT_MAPPED_UNKEPT, 1);
        unmap_for_good(out->m[i].start, out->m[i].len);
    }
}

char *mapped_cache_take(size_t *total) {
    if (!is_on() && kept_bytes() == 0)
        return NULL;
    uint64_t now = os_clock_us();
    if (!lock_take(&mapped_cache_lock))
        return NULL;
    struct leaving out;
    out.count = 0;
    char *mapping = take(total, now);
    let_old_go(&out, now);
    lock_release(&mapped_cache_lock);
    unmap_all(&out);
    return mapping;
}

void mapped_cache_put(char *mapping, size_t len) {
    if (!is_on()) {
        unmap_for_good(mapping, len);
        return;
    }
    struct mapping m = {mapping, len, os_clock_us()};
    if (!lock_take(&mapped_cache_lock)) {
        unmap_for_good(mapping, len);
        return;
    }
    struct leaving out;
    out.count = 0;
    let_old_go(&out, m.at);
    put(m, &out);
    lock_release(&mapped_cache_lock);
    unmap_all(&out);
}

bool mapped_cache_empty(void) {
    if (kept_bytes() == 0 || !lock_take(&mapped_cache_lock))
        return false;
    struct leaving out;
    out.count = 0;
    while (kept_count > 0)
        let_go(&out, kept_count - 1);
    lock_release(&mapped_cache_lock);
    unmap_all(&out);
    return out.count > 0;
}

void mapped_cache_age(void) {
    if (LIKELY(kept_bytes() == 0))
        return;
    uint64_t now = os_clock_us();
    if (!lock_take(&mapped_cache_lock))
        return;
    struct leaving out;
    out.count = 0;
    let_old_go(&out, now);
    lock_release(&mapped_cache_lock);
    unmap_all(&out);
}

const char *mapped_cache_check(void) {
    if (!lock_take(&mapped_cache_lock))
        return NULL;
    const char *wrong = NULL;
    size_t bytes = 0;
    for (unsigned i = 0; i < kept_count; i++) {
        const struct mapping *m = &kept[i];
        bytes += m->len;
        if (m->len == 0 || !is_aligned((uintptr_t)m->start | m->len, os_facts.page))
            wrong = "a kept mapping is not whole pages";
        for (unsigned k = 0; k < i; k++)
            if (m->start < kept[k].start + kept[k].len && kept[k].start < m->start + m->len)
                wrong = "two kept mappings overlap";
    }
    if (bytes != kept_bytes())
        wrong = "the bytes of kept mappings are counted wrong";
    lock_release(&mapped_cache_lock);
    return wrong;
}
