/* Pages of a run on which no object is out.  A page becomes idle when the last object that touches it
   comes back, and stays known as idle, or as gone once it was purged, until an object on it is handed
   out again. */
#ifndef RUNG_RUNS_IDLE_H
#define RUNG_RUNS_IDLE_H

#include "runs/purge.h"

/* The runs of one size that have idle pages, those first that have had them longest. */
struct idle_list {
    struct link head;
};

/* Whether no object that is out touches the page.  Lock of its size held, like below. */
bool idle_page(struct run *r, size_t page);

/* r is new, and nothing of it handed out yet. */
void idle_begin(struct idle_list *l, struct run *r, bool resident);

/* A bit for each page that [offset, offset + bytes) of a run touches. */
static HOT unsigned idle_pages_of(size_t offset, size_t bytes) {
    size_t first = whole_pages_in(offset);
    size_t last = whole_pages_in(offset + bytes - 1);
    return ((2u << last) - 1) & ~0u << first;
}

/* Objects of r have come back, none of them on other pages than these. */
void idle_after_give(struct idle_list *l, struct run *r, unsigned pages);

/* The objects in [offset, end) are handed out. */
void idle_before_take(struct idle_list *l, struct run *r, size_t offset, size_t end);

/* r becomes free whole, or is looked at no more. */
void idle_forget(struct run *r);

/* Purges idle pages of up to `most` runs, as far as they may not stay; those that went idle last are looked at
   last, and not at all if they are younger than PURGE_AGED asks for.  True if any went. */
bool idle_purge(struct idle_list *l, size_t most, enum purge_why why);

#endif
