#include "life/purge_thread.h"

#include <errno.h>
#include <pthread.h>

#include "base/bits.h"
#include "base/self.h"
#include "chunk/footprint.h"
#include "chunk/purger.h"
#include "life/fork.h"
#include "options/options.h"
#include "os/os.h"
#include "reclaim/age.h"

/* libc takes its own structure and all static thread-local storage from the stack: where 64 KiB are too
   little for that, it says so. */
#define STACK_MIN (64 * KIB)
#define STACK_MAX (8 * MIB)

static pthread_t thread; /* from PURGER_AWAKE on; of whoever sets PURGER_ENDING then */

/* Where the library runs.  A child that shares the parent's memory has another number. */
static int process; /* 0: not known, since nobody asked for the thread */

static bool change(enum purger_state from, enum purger_state to) {
    uint32_t expected = from;
    return atomic_compare_exchange_strong(&purger_state, &expected, (uint32_t)to);
}

/* ---- the thread ---- */

static void wait_until(uint64_t deadline_us) {
    uint32_t state;
    uint64_t now;
    while ((state = purger_is()) != PURGER_ENDING && (now = os_clock_us()) < deadline_us)
        (void)os_wait(&purger_state, state, (int64_t)(deadline_us - now));
}

static uint64_t delay_us(void) {
    return (uint64_t)option(OPT_PURGE_DELAY) * 1000;
}

/* There was nothing to do.  Looks once more when it is known to be asleep: what was freed in between woke
   nobody. */
static uint64_t sleep_or_look(void) {
    if (!change(PURGER_AWAKE, PURGER_ASLEEP))
        return delay_us() + 1000; /* it is not quite there, or shall end */
    uint64_t wait = reclaim_by_age();
    if (wait != RECLAIM_NOTHING_LEFT) {
        (void)change(PURGER_ASLEEP, PURGER_AWAKE);
        return wait;
    }
    while (purger_is() == PURGER_ASLEEP)
        (void)os_wait(&purger_state, PURGER_ASLEEP, -1);
    return delay_us(); /* what woke it is not old yet */
}

static void *look_after(void *unused) {
    (void)unused;
    os_name_thread("rung-purge");
    uint64_t wait = delay_us();
    for (;;) {
        wait_until(os_clock_us() + wait);
        if (purger_is() == PURGER_ENDING)
            return NULL;
        wait = reclaim_by_age();
        if (wait == RECLAIM_NOTHING_LEFT)
            wait = sleep_or_look();
    }
}

/* ---- start and end ---- */

static int create(void) {
    int wrong = EINVAL;
    pthread_attr_t attributes;
    for (size_t stack = STACK_MIN; wrong == EINVAL && stack <= STACK_MAX; stack *= 2) {
        if (pthread_attr_init(&attributes) != 0)
            return EAGAIN;
        wrong = pthread_attr_setstacksize(&attributes, stack);
        if (wrong == 0)
            wrong = pthread_create(&thread, &attributes, look_after, NULL);
        pthread_attr_destroy(&attributes);
    }
    return wrong;
}

void purge_thread_init(void) {
    if (option(OPT_PURGE_THREAD) != 0)
        process = os_process_id();
}

bool purge_thread_start(void) {
    if (self.stage == THREAD_GONE || fork_is_under_way() || os_process_id() != process)
        return false;
    if (!change(PURGER_NONE, PURGER_STARTING))
        return purger_is() >= PURGER_STARTING;
    uint64_t signals;
    os_block_user_signals(&signals); /* the thread inherits that */
    bool works = create() == 0;
    os_restore_signals(&signals);
    (void)change(PURGER_STARTING, works ? PURGER_AWAKE : PURGER_REFUSED);
    footprint_watch();
    return works;
}

void purge_thread_allow(void) {
    if (process == 0)
        process = os_process_id();
    (void)change(PURGER_REFUSED, PURGER_NONE);
    footprint_watch();
}

void purge_thread_stop(void) {
    while (!change(PURGER_AWAKE, PURGER_ENDING) && !change(PURGER_ASLEEP, PURGER_ENDING)) {
        enum purger_state state = purger_is();
        if (state == PURGER_NONE || state == PURGER_REFUSED)
            return;
        os_yield(); /* somebody else is starting or ending it, or it has just fallen asleep */
    }
    os_wake(&purger_state, 1);
    pthread_join(thread, NULL);
    (void)change(PURGER_ENDING, PURGER_NONE);
    footprint_watch();
}

void purge_thread_fork_child(void) {
    if (purger_is() == PURGER_NONE && option(OPT_PURGE_THREAD) == 0)
        return;
    process = os_process_id();
    atomic_store(&purger_state, (uint32_t)PURGER_NONE);
    footprint_watch();
}
