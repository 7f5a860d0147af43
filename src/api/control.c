/* What the interface lets a program decide. */
#include "api/names.h"
#include "cache/tcache.h"
#include "life/start.h"
#include "options/options.h"
#include "reclaim/trim.h"

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

ALIAS(__libc_mallopt, mallopt);
