#include "life/start.h"

#include <stdlib.h>
#include <unistd.h>

#include "arena/arenas.h"
#include "arena/huge.h"
#include "cache/cpu_cache.h"
#include "chunk/cached.h"
#include "chunk/footprint.h"
#include "guard/lock.h"
#include "life/fork.h"
#include "life/purge_thread.h"
#include "life/thread.h"
#include "options/options.h"
#include "options/parse.h"
#include "os/os.h"

_Atomic bool started;

static struct lock start_lock = LOCK_INIT(RANK_START);

/* For calls that come before libc has set `environ`. */
enum { EARLY_ENVIRONMENT = 64 * 1024, EARLY_VARIABLES = 1024 };

static void read_environment(void) {
    if (environ != NULL) {
        options_read_environment(environ, os_facts.secure);
        return;
    }
    static char text[EARLY_ENVIRONMENT];
    static char *list[EARLY_VARIABLES + 1];
    size_t len = os_initial_environment(text, sizeof text);
    size_t n = 0;
    for (size_t at = 0; at < len && n < EARLY_VARIABLES; at++)
        if (at == 0 || text[at - 1] == '\0')
            list[n++] = text + at;
    options_read_environment(list, os_facts.secure);
}

#if defined(RUNG_OWNS_BREAK)
static bool is_process_malloc(void) {
    return true;
}
#elif defined(RUNG_PREFIXED)
static bool is_process_malloc(void) {
    return false;
}
#else
/* The loader resolves this word as it resolves the program's calls. */
static void *(*const volatile process_malloc)(size_t) = malloc;

/* From the linker: where this library, or the program it is linked into, begins and ends. */
extern char __ehdr_start __attribute__((visibility("hidden")));
extern char _end __attribute__((visibility("hidden")));

static bool is_process_malloc(void) {
    char *theirs = (char *)process_malloc;
    return theirs >= &__ehdr_start && theirs < &_end;
}
#endif

COLD void start_slow(void) {
    /* Refused only to a signal handler that interrupted the start: it works with the initial values,
       and the main arena as far as it has come (lock_take() there says no as well). */
    if (!lock_take(&start_lock))
        return;
    if (!atomic_load_explicit(&started, memory_order_relaxed)) {
        os_read_facts();
        os_facts.own_break = is_process_malloc();
        read_environment();
        footprint_begin();
        purge_thread_init();
        huge_init();
        cached_key_init();
        arenas_init();
        caches_begin();
        atomic_store_explicit(&started, true, memory_order_release);
    }
    lock_release(&start_lock);
}

/* What may allocate or take libc's locks, and so must not happen inside a malloc: it happens here, or
   with the first thread (life/thread.c), whichever comes first. */
__attribute__((constructor)) static void construct(void) {
    start();
    thread_hooks_init();
    thread_begin();
}
