/* The test double of src/os: the same verbs, on real memory, under the test's control.
 *
 * It keeps a record of every range it has handed out, so that a test can ask where all memory is, and ends the
 * process when a verb is used against its contract (a range that is not whole pages, a commit of something that
 * is not reserved, ...).  Fallible verbs are numbered as they come, and any of them can be made to fail.
 *
 * The break is a simulated one in a reserved region of its own, with the kernel's rules: bytes in, pages mapped,
 * pages that leave come back zeroed, a partial last page stays as it is. */
#ifndef RUNG_TESTS_DOUBLE_H
#define RUNG_TESTS_DOUBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The verbs that can fail, in the order of os/os.h, and one that cannot. */
enum verb {
    VERB_MAP,
    VERB_RESERVE,
    VERB_UNMAP,
    VERB_COMMIT,
    VERB_DECOMMIT,
    VERB_PURGE,
    VERB_REMAP,
    VERB_ADVISE_HUGE,
    VERB_ADVISE_SMALL,
    VERB_POPULATE,
    VERB_BREAK, /* that moves it: asking cannot fail, and is not counted */
    VERB_RANDOM,
    VERB_FALLIBLE,
    VERB_NAME = VERB_FALLIBLE,
    VERB_COUNT
};

/* ---- counting ---- */

/* Calls since the last double_count_from_here(), the failed ones included. */
size_t double_calls(enum verb verb);
size_t double_fallible_calls(void);
void double_count_from_here(void);

/* ---- failing ---- */

/* The calls first..last of the fallible ones, counted from now on and from 1, fail; SIZE_MAX: all after. */
void double_fail(size_t first, size_t last);

/* Every call of this verb fails, until double_heal(). */
void double_fail_verb(enum verb verb);

/* Nothing fails any more. */
void double_heal(void);

/* How many calls have been made to fail since the last double_heal(). */
size_t double_failures(void);

/* No more than this many accessible bytes at once; SIZE_MAX: no limit. */
void double_limit(size_t bytes);

/* A kernel, or an emulator, that accepts a purge and leaves the pages as they are. */
void double_purge_leaves(bool yes);

/* ---- time ---- */

/* The clock stands at this many microseconds, not 0, until it is set again. */
void double_set_clock(uint64_t us);

/* The same, so much later than it is. */
void double_clock_advance(uint64_t us);

/* ---- the break ---- */

/* Where the break starts; before anything moves it.  `offset` bytes past a page boundary. */
void double_break_starts_at(size_t offset);

/* Something lies above the break: it cannot rise. */
void double_wall_above_break(bool yes);

/* sbrk as the program calls it. */
void *double_program_sbrk(intptr_t delta);

/* ---- where all memory is ---- */

size_t double_accessible(void);     /* bytes that can be touched, the break's included */
size_t double_address_space(void);  /* those and the reserved ones; of the break the risen part */
size_t double_break_bytes(void);    /* from where it started */
size_t double_mappings(void);       /* what the kernel would count as mappings, the break's aside */
bool double_is_accessible(const void *p, size_t len);

/* Bytes still there of ranges that the double refused to unmap. */
size_t double_refused(void);

/* Bytes in calls of this verb, since the last double_count_from_here(). */
size_t double_bytes(enum verb verb);

/* The last huge_flags that os_map was called with, and whether MAP_HUGETLB is refused (it is unless set; the
   pages are then ordinary ones). */
int double_last_huge_flags(void);
void double_has_huge_pages(bool yes);

/* ---- for tests with many threads ---- */

/* No record, no lock, no failures: the verbs go straight through, and add no synchronisation that could hide
   a race from a sanitizer.  Before the first other use; there is no way back. */
void double_pass_through(void);

/* ---- facts ---- */

/* What the "kernel" reports; copied to os_facts at once.  page: a power of two, at least the real one. */
struct os_facts;
void double_set_facts(const struct os_facts *facts);

/* What memory.high of the process's control groups is said to be. */
extern size_t double_memory_high;

#endif
