#include "arena/pages.h"

#include "guard/assert.h"
#include "options/options.h"
#include "os/os.h"

void pages_init(struct arena *a) {
    list_init(&a->resident);
    a->purges = option(OPT_ARENA_KEEP) != 0;
}

static char *first_page(const struct chunk *c) {
    return ptr_align_up((const char *)(c + 1) + sizeof(struct page_note), os_facts.page);
}

static char *end_of_pages(const struct chunk *c, size_t csz) {
    return ptr_align_down((const char *)c + csz, os_facts.page);
}

size_t pages_covered(const struct chunk *c, size_t csz) {
    char *first = first_page(c), *end = end_of_pages(c, csz);
    return first < end ? (size_t)(end - first) : 0;
}

struct page_note *pages_note(const struct chunk *c, size_t csz) {
    return pages_covered(c, csz) > 0 ? (struct page_note *)(c + 1) : NULL;
}

static size_t resident_bytes(const struct page_note *n) {
    return (size_t)(n->to - n->from);
}

static bool is_listed(const struct page_note *n) {
    return n->from < n->to;
}

static void unlist(struct arena *a, struct page_note *n) {
    struct link *l = &n->link;
    if (UNLIKELY(l->next->prev != l || l->prev->next != l))
        die(MSG_LINKS, n, resident_bytes(n));
    list_remove(l);
    a->resident_bytes -= resident_bytes(n);
}

void pages_absorb_noted(struct arena *a, struct chunk *c, size_t csz, struct pages *p) {
    /* The pages at its ends, which it shares or has its links in, are resident in any case. */
    char *from = (char *)c + csz, *to = (char *)c;
    struct page_note *n = pages_note(c, csz);
    if (n == NULL) {
        from = (char *)c;
        to = (char *)c + csz;
    } else {
        a->free_pages -= pages_covered(c, csz);
        p->purged_at = p->purged_at > n->purged_at ? p->purged_at : n->purged_at;
        from = end_of_pages(c, csz);
        to = first_page(c);
        if (is_listed(n)) {
            struct link *before = n->link.prev;
            unlist(a, n);
            if (p->place == &n->link)
                p->place = before;
            if (p->place == NULL || n->freed_at < p->freed_at) {
                p->place = before;
                p->freed_at = n->freed_at;
            }
            from = n->from;
            to = n->to;
        }
    }
    if ((char *)c < p->from) /* it lies before */
        p->from = from < p->from ? from : p->from;
    else
        p->to = to > p->to ? to : p->to;
}

struct pages pages_use_noted(struct arena *a, struct chunk *c, size_t csz, size_t used) {
    struct page_note *n = pages_note(c, csz);
    if (n == NULL)
        return pages_in_use(c, csz);
    struct pages p = {n->from, n->to, n->freed_at, n->purged_at, NULL};
    a->free_pages -= pages_covered(c, csz);
    if (is_listed(n)) {
        p.place = n->link.prev;
        unlist(a, n);
    }
    if (n->purged_at != 0) {
        size_t gone = pages_covered(c, used);
        char *end = (char *)c + used;
        if (n->from < end && is_listed(n))
            gone -= size_min(gone, (size_t)((n->to < end ? n->to : end) - n->from));
        a->wanted_back += gone;
        a->wanted_back_at = n->purged_at;
    }
    return p;
}

void pages_free_noted(struct arena *a, struct chunk *c, size_t csz, const struct pages *p) {
    struct page_note *n = pages_note(c, csz);
    if (n == NULL)
        return;
    char *first = first_page(c), *end = end_of_pages(c, csz);
    char *from = ptr_align_down(p->from, os_facts.page), *to = ptr_align_up(p->to, os_facts.page);
    a->free_pages += (size_t)(end - first);
    n->from = from > first ? from : first;
    n->to = to < end ? to : end;
    n->purged_at = p->purged_at;
    if (n->from >= n->to) {
        n->from = n->to = first;
        return;
    }
    n->freed_at = p->place != NULL ? p->freed_at : a->looked_at;
    list_insert_after(p->place != NULL ? p->place : &a->resident, &n->link);
    a->resident_bytes += resident_bytes(n);
}

struct page_note *pages_coldest(struct arena *a) {
    struct link *l = a->resident.prev;
    return l != &a->resident ? (struct page_note *)((char *)l - offsetof(struct page_note, link)) : NULL;
}

void pages_gone(struct arena *a, struct page_note *n, uint64_t purged_at) {
    assert_structure(is_listed(n));
    unlist(a, n);
    n->purged_at = purged_at;
    n->to = n->from;
}
