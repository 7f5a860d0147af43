/* Which pages of a range the kernel holds, of this process or of another one. */
#ifndef RUNG_REPORT_RESIDENCY_H
#define RUNG_REPORT_RESIDENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RESIDENCY_PAGES = 512 };

/* Pages are asked for many at a time, and remembered: neighbours cost no call. */
struct residency {
    int map;          /* from os_open_page_map() */
    size_t page;      /* the kernel's */
    uintptr_t first;  /* number of the page that entry[0] tells of */
    size_t known;     /* entries */
    uint64_t entry[RESIDENCY_PAGES];
};

/* pid 0: this process.  False: the kernel does not say. */
bool residency_open(struct residency *r, int pid);
void residency_close(struct residency *r);

/* Whether the page with this address was never touched, as far as the kernel tells: then it reads as it did at
   first, and reading it from outside would make it a touched one. */
bool residency_is_blank(struct residency *r, uintptr_t address);

/* What was remembered may have changed. */
static inline void residency_forget(struct residency *r) {
    r->known = 0;
}

/* The bytes of [from, to) that are resident and private to the process.  What the kernel does not tell
   of is not. */
size_t residency_bytes(struct residency *r, uintptr_t from, uintptr_t to);

#endif
