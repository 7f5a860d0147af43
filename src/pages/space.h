/* The windows that pages come from, and what the system is asked for them: all under one lock, which the caller
 * holds.  pages/pages.h is how the layers above take and give; what is free and resident goes back to the
 * kernel by pages/purge.h, of which nothing here knows. */
#ifndef RUNG_PAGES_SPACE_H
#define RUNG_PAGES_SPACE_H

#include "guard/lock.h"
#include "pages/lists.h"

extern struct lock pages_lock;

/* How much of it all there is, in bytes. */
struct pages_totals {
    size_t in_use;        /* taken by runs and blocks */
    size_t resident_free; /* pages nobody has that may be resident */
    size_t system;        /* accessible pages, the windows' heads included */
    size_t heads;
    size_t windows;
};
extern struct pages_totals pages_totals;

/* n pages at a multiple of align pages, what was found of them in *t.  NULL: no memory. */
char *space_claim(enum space_kind kind, size_t n, size_t align, struct taken *t);

/* The used span at start becomes n pages longer, in place.  False: those are taken, or there is no memory. */
bool space_claim_more(char *start, size_t n, struct taken *t);

/* The used span at start is free. */
void space_free(char *start);

/* The last n pages of the used span at start are free. */
void space_free_end(char *start, size_t n);

/* Gives the last n pages of a resident span back to the kernel.  False: it refuses; they count as gone all the
   same, since it would refuse again. */
bool space_purge(span_id id, size_t n);

/* Whether a purged page reads as zeros.  Some kernels and emulators accept MADV_DONTNEED and do
   nothing; the first purge finds out. */
bool space_purge_zeroes(void);

/* Purges somebody else's pages: idle ones of a run.  False: the kernel refuses. */
bool space_purge_used(char *start, size_t len);

/* Windows without anything in them return to the kernel.  True if there were any. */
bool space_drop(void);

/* NULL when all is sound, otherwise what is wrong; *where: the window at fault. */
const char *space_check_pages(const void **where);

#endif
