/* The `hugetlb` option, digested once at start-up (row D9). */
#ifndef RUNG_ARENA_HUGE_H
#define RUNG_ARENA_HUGE_H

#include <stdbool.h>
#include <stddef.h>

struct huge_policy {
    size_t thp;      /* hugetlb=1: heaps grow and shrink in these units and ask for transparent huge
                        pages; 0: no */
    size_t page;     /* hugetlb=2 or a size: mappings of at least this try MAP_HUGETLB first; 0: no */
    int flags;       /* for os_map */
    bool no_break;   /* the main arena never uses brk: explicit huge pages cannot back it */
};

extern struct huge_policy huge;

/* Reads the option and os_facts.  Called once, at start-up. */
void huge_init(void);

/* Asks for transparent huge pages in a fresh range, if the policy says so and it is large enough. */
void huge_advise(void *start, size_t len);

#endif
