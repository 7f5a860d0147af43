#include "life/thread.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "arena/arenas.h"
#include "base/self.h"
#include "cache/cpu_cache.h"
#include "cache/tcache.h"
#include "chunk/meta.h"
#include "guard/lock.h"
#include "life/fork.h"
#include "options/options.h"
#include "life/purge_thread.h"

static pthread_key_t exit_key;
static _Atomic bool hooks_begun, hooks_ready;

static _Atomic unsigned threads_known; /* whose end will be noticed */

/* ---- records ----
 *
 * A thread whose very first call comes in the last round of its destructors ends unnoticed, and its
 * cache and its place in an arena would be lost.  But its storage will be another thread's: a new
 * thread that finds a record under its own address inherits what the record names. */

struct lock records_lock = LOCK_INIT(RANK_RECORDS);
struct thread_record *thread_records[RECORD_BUCKETS];

/* Where in its list the record of the calling thread's address is, or the list's end. */
static struct thread_record **find_record(void) {
    struct thread_record **at = &thread_records[(uintptr_t)&self / 4096 % RECORD_BUCKETS];
    while (*at != NULL && (*at)->owner != &self)
        at = &(*at)->next;
    return at;
}

/* True: it takes the place of a thread that ended unnoticed. */
static bool inherit_or_record(void) {
    if (!lock_take(&records_lock))
        return false;
    struct thread_record **at = find_record();
    bool inherits = *at != NULL;
    if (inherits) {
        self.record = *at;
        if (self.arena == NULL)
            self.arena = self.record->arena;
        self.record->arena = self.arena;
        if (self.record->tcache != NULL)
            self.tcache = self.record->tcache;
        caches_inherit_seat(self.record->seat);
        self.record->seat = self.area.number;
    } else if ((*at = meta_alloc(sizeof **at)) != NULL) {
        /* The process's first thread may have come to have all this already. */
        **at = (struct thread_record){.owner = &self, .arena = self.arena, .seat = self.area.number};
        if (!tcache_is_inactive(self.tcache) && self.tcache != &tcache_disabled)
            (*at)->tcache = self.tcache;
        self.record = *at;
    }
    lock_release(&records_lock);
    return inherits;
}

/* The record names nothing any more: if it has to stay, whoever inherits it inherits nothing. */
static void strike_record(void) {
    struct thread_record *r = self.record;
    self.record = NULL;
    if (r == NULL || !lock_take(&records_lock))
        return;
    struct thread_record **at = find_record();
    *at = r->next;
    meta_free(r, sizeof *r);
    lock_release(&records_lock);
}

/* In the child of a fork: the others' storage may be used again, but their caches were in motion. */
void threads_forget_others(void) {
    for (unsigned i = 0; i < RECORD_BUCKETS; i++)
        thread_records[i] = NULL;
    if (self.record != NULL) {
        *find_record() = self.record;
        self.record->next = NULL;
    }
    atomic_store_explicit(&threads_known, self.stage == THREAD_KNOWN, memory_order_relaxed);
}

/* ---- coming and going ---- */

/* Runs among the destructors of the thread's other keys, in no known order, up to
   PTHREAD_DESTRUCTOR_ITERATIONS times while keys have values.  Those others may still allocate and
   free, so this one puts itself off to the last round but one, before the runtimes of sanitizers,
   which take the last and leave nothing for instrumented code to run on; what comes after it all
   the same finds the disabled cache and is not bound again. */
static void at_thread_exit(void *unused) {
    (void)unused;
    if (self.exit_rounds + 2 < PTHREAD_DESTRUCTOR_ITERATIONS) {
        self.exit_rounds++;
        if (pthread_setspecific(exit_key, &self) == 0)
            return;
    }
    self.stage = THREAD_GONE;
    caches_leave_seat();
    tcache_stop();
    arena_unbind();
    strike_record();
    /* libc ends the process when its last thread ends, which must not be ours. */
    if (atomic_fetch_sub_explicit(&threads_known, 1, memory_order_relaxed) == 1)
        purge_thread_stop();
}

void thread_hooks_init(void) {
    if (atomic_exchange_explicit(&hooks_begun, true, memory_order_relaxed))
        return;
    bool have_key = pthread_key_create(&exit_key, at_thread_exit) == 0;
    fork_hooks_init();
    atomic_store_explicit(&hooks_ready, have_key, memory_order_release);
}

void thread_begin(void) {
    if (self.stage == THREAD_KNOWN && self.record == NULL && inherit_or_record()) /* refused the first time */
        atomic_fetch_sub_explicit(&threads_known, 1, memory_order_relaxed);
    if (self.stage != THREAD_NEW)
        return;
    if (!single_threaded())
        thread_hooks_init();
    /* The process's first thread may come here before the constructor; it comes back. */
    if (!atomic_load_explicit(&hooks_ready, memory_order_acquire))
        return;
    self.stage = THREAD_KNOWN; /* first: the next lines may allocate */
    if (!inherit_or_record())
        atomic_fetch_add_explicit(&threads_known, 1, memory_order_relaxed);
    pthread_setspecific(exit_key, &self);
}

void thread_settle(void) {
    unsigned watch = fork_watch();
    thread_begin();
    if (self.record == NULL && fork_was_in_the_way(watch))
        return;
    tcache_start();
    if (self.tcache == &tcache_disabled && option(OPT_RUNS) == 0 && self.stage != THREAD_GONE && fork_was_in_the_way(watch))
        self.tcache = &tcache_inactive;
}
