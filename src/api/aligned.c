#include <errno.h>

#include "api/ladder.h"
#include "api/names.h"
#include "life/start.h"
#include "os/os.h"

/* align is a power of two. */
static void *allocate_aligned(size_t align, size_t req) {
    if (align <= ALIGNMENT)
        return OWN(malloc)(req);
    return climb_aligned(size_max(align, MIN_CHUNK), req);
}

/* The one that accepts any alignment: the next power of two will do. */
EXPORT void *NAME(memalign)(size_t align, size_t req) {
    if (UNLIKELY(align > SIZE_MAX / 2 + 1)) {
        errno = EINVAL;
        return NULL;
    }
    if (align > ALIGNMENT && !is_pow2(align))
        align = (size_t)2 << log2_floor(align);
    return allocate_aligned(align, req);
}

/* C17: an alignment that is not supported is an error. */
EXPORT void *NAME(aligned_alloc)(size_t align, size_t req) {
    if (UNLIKELY(!is_pow2(align))) {
        errno = EINVAL;
        return NULL;
    }
    return allocate_aligned(align, req);
}

/* POSIX: the error is the result; on failure *mem stays as it is.  errno says no more than POSIX wants when memory is
   what fails: ENOMEM, as glibc leaves it there, since programs print it. */
EXPORT int NAME(posix_memalign)(void **mem, size_t align, size_t req) {
    if (UNLIKELY(!is_pow2(align) || align % sizeof(void *) != 0))
        return EINVAL;
    int saved = errno;
    void *p = allocate_aligned(align, req);
    if (p == NULL)
        return ENOMEM;
    errno = saved;
    *mem = p;
    return 0;
}

EXPORT void *NAME(valloc)(size_t req) {
    start();
    return allocate_aligned(os_facts.page, req);
}

/* Whole pages. */
EXPORT void *NAME(pvalloc)(size_t req) {
    start();
    if (UNLIKELY(req > REQUEST_MAX - os_facts.page)) {
        errno = ENOMEM;
        return NULL;
    }
    return allocate_aligned(os_facts.page, align_up(req, os_facts.page));
}

/* C23: the largest power of two that divides the address; 0 for NULL. */
EXPORT size_t NAME(memalignment)(const void *mem) {
    return (size_t)((uintptr_t)mem & (0 - (uintptr_t)mem));
}

DEFINE_OWN(memalign);
ALIAS(__libc_memalign, memalign);
ALIAS(__libc_valloc, valloc);
ALIAS(__libc_pvalloc, pvalloc);
ALIAS(__posix_memalign, posix_memalign);
