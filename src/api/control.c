/* What the interface lets a program decide. */
#include <errno.h>

#include "api/names.h"
#include "cache/tcache.h"
#include "chunk/footprint.h"
#include "life/purge_thread.h"
#include "life/start.h"
#include "options/options.h"
#include "reclaim/limit.h"
#include "reclaim/trim.h"
#include "rung/rung.h"

EXPORT int NAME(mallopt)(int parameter, int value) {
    start();
    int result = options_mallopt(parameter, value);
    if (parameter == M_PERTURB && value != 0)
        tcache_stop(); /* cached blocks would not be filled */
    return result;
}

EXPORT int NAME(malloc_trim)(size_t pad) {
    start();
    return trim_everything(pad);
}

static void set_limit(enum option which, size_t bytes) {
    start();
    option_store(which, bytes);
    footprint_limits_changed();
}

EXPORT void rung_set_soft_limit(size_t bytes) {
    set_limit(OPT_SOFT_LIMIT, bytes);
}

EXPORT void rung_set_hard_limit(size_t bytes) {
    set_limit(OPT_HARD_LIMIT, bytes);
}

EXPORT void rung_on_soft_limit(void (*f)(size_t used, void *arg), void *arg) {
    limit_on_soft(f, arg);
}

EXPORT int rung_purge_thread(int on) {
    start();
    option_store(OPT_PURGE_THREAD, on != 0);
    if (on == 0) {
        purge_thread_stop();
        return 0;
    }
    purge_thread_allow();
    if (purge_thread_start())
        return 0;
    errno = EAGAIN;
    return -1;
}

ALIAS(__libc_mallopt, mallopt);
