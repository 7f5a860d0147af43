/* Fork.
 *
 * The child is a copy of the memory at one instant, with one thread.  Every structure must be whole
 * at that instant, so the prepare handler makes the locked regions hold still.  The obvious way,
 * taking every lock, can deadlock: after the handlers have run, fork() waits for locks of libc's
 * own (the list of streams), whose owners may be waiting for other locks (a stream's), whose owner
 * may be inside malloc, waiting for an arena that the forking thread holds.  So:
 *
 *  - Freezing a lock (guard/lock.h) keeps others out without making them wait: until the thaw they
 *    are served by mapped chunks and inboxes.
 *  - The freeze waits for those who are inside, but not for ever: a holder may itself be below a
 *    signal handler that waits for something of ours.  What has not become still by then is found
 *    marked in the child, and abandoned there: that arena is never entered again.
 *  - The forking thread may be in a signal handler that interrupted a locked region of its own.  That
 *    region stays as it is, here and in the child: both go on from the handler's return.
 *  - Two threads may fork at once.  The second joins the first one's freeze, without waiting for it;
 *    the last to leave thaws.
 *
 * Only arenas that exist are visited, so a process that never used a second one pays for one. */
#include "life/fork.h"

#include <pthread.h>
#include <stdatomic.h>

#include "arena/arenas.h"
#include "arena/budget.h"
#include "arena/mapped_cache.h"
#include "base/counter.h"
#include "cache/cpu_cache.h"
#include "cache/depot.h"
#include "chunk/footprint.h"
#include "chunk/meta.h"
#include "life/purge_thread.h"
#include "life/thread.h"
#include "os/os.h"
#include "reclaim/limit.h"
#include "runs/run.h"

/* How long the freeze waits for holders.  The regions are microseconds long, but their threads may
   be off the CPU. */
enum { FREEZE_LIMIT_US = 200 * 1000 };

/* Guards the two below.  Held for bounded stretches only, with signals blocked: whoever waits for it
   gets it. */
static _Atomic unsigned gate;
static _Atomic unsigned forks; /* between their prepare and their parent handler */

/* For fork_watch(): grows before each freeze and after each thaw, up to the bit that tells of a fork under way. */
static _Atomic unsigned fork_changes;
#define FORK_UNDER_WAY (~0u / 2 + 1)

static void enter_gate(uint64_t *signals) {
    os_block_signals(signals);
    while (atomic_exchange_explicit(&gate, 1, memory_order_acquire) != 0)
        os_yield();
}

static void leave_gate(const uint64_t *signals) {
    atomic_store_explicit(&gate, 0, memory_order_release);
    os_restore_signals(signals);
}

static void freeze(struct lock *l, void *deadline) {
    lock_fork_freeze(l, *(uint64_t *)deadline);
}

static void thaw(struct lock *l, void *unused) {
    (void)unused;
    lock_fork_thaw(l);
}

static void freeze_all(void) {
    uint64_t deadline = os_clock_us() + FREEZE_LIMIT_US;
    lock_fork_freeze(&records_lock, deadline);
    lock_fork_freeze(&arenas_lock, deadline);
    struct arena *a = &main_arena;
    do {
        lock_fork_freeze(&a->lock, deadline);
        a = arena_next(a);
    } while (a != &main_arena);
    lock_fork_freeze(&mapped_cache_lock, deadline);
    lock_fork_freeze(&budget_lock, deadline);
    caches_each_lock(freeze, &deadline);
    depot_each_lock(freeze, &deadline);
    runs_each_lock(freeze, &deadline);
    lock_fork_freeze(&meta_lock, deadline);
}

static void thaw_all(void) {
    lock_fork_thaw(&meta_lock);
    runs_each_lock(thaw, NULL);
    depot_each_lock(thaw, NULL);
    caches_each_lock(thaw, NULL);
    lock_fork_thaw(&budget_lock);
    lock_fork_thaw(&mapped_cache_lock);
    struct arena *a = &main_arena;
    do {
        lock_fork_thaw(&a->lock);
        a = arena_next(a);
    } while (a != &main_arena);
    lock_fork_thaw(&arenas_lock);
    lock_fork_thaw(&records_lock);
}

/* What others left behind because they could not enter.  Waits for nothing: who holds a lock now will
   see to it. */
static void catch_up(void) {
    struct arena *a = &main_arena;
    do {
        if (atomic_load_explicit(&a->inbox, memory_order_relaxed) != NULL && lock_try(&a->lock)) {
            arena_empty_inbox(a);
            arena_leave(a);
        }
        a = arena_next(a);
    } while (a != &main_arena);
    if (lock_try(&arenas_lock)) {
        arenas_park_left();
        lock_release(&arenas_lock);
    }
}

static void prepare(void) {
    uint64_t signals;
    counter_add(COUNT_FORKS, 1);
    enter_gate(&signals);
    atomic_fetch_add_explicit(&fork_changes, 1, memory_order_release);
    if (forks++ == 0)
        freeze_all();
    leave_gate(&signals);
}

static void parent(void) {
    uint64_t signals;
    enter_gate(&signals);
    bool last = forks == 1;
    if (last)
        thaw_all();
    forks--; /* only now: whoever was refused a lock until here may ask whether a fork was the reason */
    atomic_fetch_add_explicit(&fork_changes, 1, memory_order_release);
    leave_gate(&signals);
    if (last)
        catch_up();
}

/* What a lock that stays shut guards, a size's runs or shelf, the freed
   mappings or what was learned about arenas, is done without. */
static void open_in_child(struct lock *l, void *unused) {
    (void)unused;
    (void)lock_fork_child(l);
}

static void child(void) {
    atomic_store_explicit(&gate, 0, memory_order_relaxed);
    forks = 0;
    footprint_fork_child();
    limit_fork_child();
    purge_thread_fork_child();
    lock_fork_child(&meta_lock);
    runs_each_lock(open_in_child, NULL);
    depot_each_lock(open_in_child, NULL);
    caches_each_lock(open_in_child, NULL);
    open_in_child(&budget_lock, NULL);
    open_in_child(&mapped_cache_lock, NULL);
    lock_fork_child(&arenas_lock);
    if (lock_fork_child(&records_lock))
        threads_forget_others();
    struct arena *a = &main_arena;
    do {
        if (!lock_fork_child(&a->lock)) {
            a->abandoned = true;
            counter_add(COUNT_ABANDONED_ARENAS, 1);
        }
        a = arena_next(a);
    } while (a != &main_arena);
    if (lock_try(&arenas_lock)) {
        arenas_forget_threads();
        lock_release(&arenas_lock);
    }
    catch_up();
}

unsigned fork_watch(void) {
    unsigned seen = atomic_load_explicit(&fork_changes, memory_order_acquire) & ~FORK_UNDER_WAY;
    return seen | (atomic_load_explicit(&forks, memory_order_relaxed) != 0 ? FORK_UNDER_WAY : 0);
}

bool fork_was_in_the_way(unsigned since) {
    atomic_thread_fence(memory_order_acquire);
    return since >= FORK_UNDER_WAY || since != fork_watch();
}

bool fork_is_under_way(void) {
    return atomic_load_explicit(&forks, memory_order_relaxed) != 0;
}

void fork_hooks_init(void) {
    pthread_atfork(prepare, parent, child);
}
