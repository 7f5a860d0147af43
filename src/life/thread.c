#include "life/thread.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "arena/arenas.h"
#include "base/self.h"
#include "cache/tcache.h"
#include "guard/lock.h"
#include "life/fork.h"

static pthread_key_t exit_key;
static _Atomic bool hooks_begun, hooks_ready;

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
    tcache_stop();
    arena_unbind();
}

void thread_hooks_init(void) {
    if (atomic_exchange_explicit(&hooks_begun, true, memory_order_relaxed))
        return;
    bool have_key = pthread_key_create(&exit_key, at_thread_exit) == 0;
    fork_hooks_init();
    atomic_store_explicit(&hooks_ready, have_key, memory_order_release);
}

void thread_begin(void) {
    if (self.stage != THREAD_NEW)
        return;
    if (!single_threaded())
        thread_hooks_init();
    /* The process's first thread may come here before the constructor; it comes back. */
    if (!atomic_load_explicit(&hooks_ready, memory_order_acquire))
        return;
    self.stage = THREAD_KNOWN; /* first: the next line may allocate */
    pthread_setspecific(exit_key, &self);
}
