/* dlopen and dlmopen, in front of libc's, to drop one flag: RTLD_DEEPBIND.
 *
 * A library opened with that flag looks for symbols in itself and its dependencies first, libc among them,
 * before it looks in what was preloaded.  It frees with libc's free what the program allocated with this
 * library's malloc, and the process ends.  PHP opens its extensions so.  Only this flag is taken away, only where
 * this library is the process's malloc, and not with option deepbind=1.
 *
 * libc looks at its return address to find out for whom it opens the library: whose RUNPATH counts, and in
 * which namespace.  So libc's function has to be jumped to, not called: it then returns to our caller. */
#include <dlfcn.h>
#include <stdatomic.h>

#include "base/compiler.h"
#include "life/start.h"
#include "options/options.h"
#include "os/os.h"

#ifdef RTLD_DEEPBIND

/* A call in the tail position becomes a jump, whatever the rest of the library is compiled with. */
#if defined(__clang__)
#define JUMPS
#define JUMP_TO __attribute__((musttail)) return
#else
#define JUMPS __attribute__((optimize("O2")))
#define JUMP_TO return
#endif

typedef void *dlopen_function(const char *file, int mode);
typedef void *dlmopen_function(Lmid_t space, const char *file, int mode);

EXPORT void *dlopen(const char *file, int mode);
EXPORT void *dlmopen(Lmid_t space, const char *file, int mode);

/* The symbol behind ours.  Not asked for before somebody opens something: at start-up dlsym may not be ready. */
static SLOW void *find_next(void *_Atomic *place, const char *name) {
    void *next = atomic_load_explicit(place, memory_order_relaxed);
    if (next == NULL) {
        next = dlsym(RTLD_NEXT, name);
        atomic_store_explicit(place, next, memory_order_relaxed);
    }
    return next;
}

static SLOW int without_deepbind(int mode) {
    start();
    return os_facts.own_break && option(OPT_DEEPBIND) == 0 ? mode & ~RTLD_DEEPBIND : mode;
}

JUMPS void *dlopen(const char *file, int mode) {
    static void *_Atomic place;
    dlopen_function *next = (dlopen_function *)find_next(&place, "dlopen");
    if (next == NULL)
        return NULL;
    mode = without_deepbind(mode);
    JUMP_TO next(file, mode);
}

/* Another namespace has a libc, and so a malloc, of its own, with or without the flag. */
JUMPS void *dlmopen(Lmid_t space, const char *file, int mode) {
    static void *_Atomic place;
    dlmopen_function *next = (dlmopen_function *)find_next(&place, "dlmopen");
    if (next == NULL)
        return NULL;
    if (space == LM_ID_BASE)
        mode = without_deepbind(mode);
    JUMP_TO next(space, file, mode);
}

#endif
