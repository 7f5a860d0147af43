/* Gives a toy the names malloc, free, calloc and realloc, so that LD_PRELOAD puts it under
 * programs that exist. The toys know nothing of threads and of alignments above 16; what programs
 * need of both is here, once for all four.
 *
 * One lock stands around every call. A child forked by another thread while the lock is held
 * inherits it locked for ever; programs that fork from several threads and go on without exec are
 * beyond a toy. So is malloc_usable_size. */
#define _GNU_SOURCE
#include "toy.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Blocks with an alignment above 16 are cut from a window of addresses of their own, each once and
 * with its size in front. Whether a pointer lies in the window tells the two kinds apart. Pages
 * nobody writes to cost nothing. */
#define WINDOW_SIZE ((size_t)1 << 30)
static uintptr_t window, window_used;

static int in_window(const void *mem) {
    return window != 0 && (uintptr_t)mem - window < WINDOW_SIZE;
}

static size_t size_in_window(const void *mem) {
    return ((const size_t *)mem)[-1];
}

static void *cut_from_window(size_t alignment, size_t size) {
    if (window == 0) {
        void *fresh = mmap(NULL, WINDOW_SIZE, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (fresh == MAP_FAILED)
            return NULL;
        window = (uintptr_t)fresh;
    }
    if (alignment > WINDOW_SIZE || size > WINDOW_SIZE)
        return NULL;
    uintptr_t mem = (window + window_used + sizeof(size_t) + alignment - 1) / alignment * alignment;
    if (mem - window > WINDOW_SIZE - size)
        return NULL;
    ((size_t *)mem)[-1] = size;
    window_used = mem - window + size;
    return (void *)mem;
}

EXPORT void *malloc(size_t size) {
    pthread_mutex_lock(&lock);
    void *mem = toy_malloc(size);
    pthread_mutex_unlock(&lock);
    return mem;
}

EXPORT void free(void *mem) {
    int saved_errno = errno;
    pthread_mutex_lock(&lock);
    if (!in_window(mem))
        toy_free(mem);
    pthread_mutex_unlock(&lock);
    errno = saved_errno;
}

EXPORT void *calloc(size_t count, size_t size) {
    pthread_mutex_lock(&lock);
    void *mem = toy_calloc(count, size);
    pthread_mutex_unlock(&lock);
    return mem;
}

EXPORT void *realloc(void *mem, size_t size) {
    pthread_mutex_lock(&lock);
    void *result;
    if (in_window(mem)) {
        result = size == 0 ? NULL : toy_malloc(size);
        if (result != NULL)
            memcpy(result, mem, size < size_in_window(mem) ? size : size_in_window(mem));
    } else {
        result = toy_realloc(mem, size);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

EXPORT void *memalign(size_t alignment, size_t size) {
    if (alignment <= 16)
        return malloc(size);
    if ((alignment & (alignment - 1)) != 0) {
        errno = EINVAL;
        return NULL;
    }
    pthread_mutex_lock(&lock);
    void *mem = cut_from_window(alignment, size);
    pthread_mutex_unlock(&lock);
    if (mem == NULL)
        errno = ENOMEM;
    return mem;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}

EXPORT int posix_memalign(void **out, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0)
        return EINVAL;
    int saved_errno = errno;
    void *mem = memalign(alignment, size);
    errno = saved_errno;
    if (mem == NULL)
        return ENOMEM;
    *out = mem;
    return 0;
}

EXPORT void *valloc(size_t size) {
    return memalign((size_t)sysconf(_SC_PAGESIZE), size);
}

EXPORT void *pvalloc(size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (size > PTRDIFF_MAX - page) {
        errno = ENOMEM;
        return NULL;
    }
    return memalign(page, (size + page - 1) / page * page);
}
