// An allocator of the kind that deadlocks: one lock, taken in a prepare handler and kept until the
// fork is over. tests/fork preloads it to show that stdio_lock would find the deadlock. It never
// gives memory back and keeps each block's size in front of it.
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

void *malloc(size_t size);
void free(void *mem);
void *calloc(size_t n, size_t size);
void *realloc(void *mem, size_t size);
void *memalign(size_t alignment, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
int posix_memalign(void **mem, size_t alignment, size_t size);
size_t malloc_usable_size(void *mem);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *next_free, *end;

static void prepare(void) {
    pthread_mutex_lock(&lock);
}

static void after_fork(void) {
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void initialize(void) {
    pthread_atfork(prepare, after_fork, after_fork);
}

static char *aligned_up(char *p, size_t alignment) {
    return p + (-(uintptr_t)p & (alignment - 1));
}

void *memalign(size_t alignment, size_t size) {
    char *mem = NULL;
    alignment = alignment < 16 ? 16 : alignment;
    if (size > PTRDIFF_MAX / 2) {
        errno = ENOMEM;
        return NULL;
    }
    pthread_mutex_lock(&lock);
    size_t need = size + 16 + alignment, piece = need > (4 << 20) ? need : 4 << 20;
    if ((size_t)(end - next_free) < need) {
        char *fresh = mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (fresh != MAP_FAILED) {
            next_free = fresh;
            end = fresh + piece;
        }
    }
    if ((size_t)(end - next_free) >= need) {
        mem = aligned_up(next_free + 16, alignment);
        memcpy(mem - 8, &size, sizeof size);
        next_free = mem + size;
    }
    pthread_mutex_unlock(&lock);
    if (!mem)
        errno = ENOMEM;
    return mem;
}

void *malloc(size_t size) {
    return memalign(16, size);
}

void free(void *mem) {
    (void)mem;
}

// Fresh mappings are zero, and no memory is used twice.
void *calloc(size_t n, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return malloc(bytes);
}

size_t malloc_usable_size(void *mem) {
    size_t size = 0;
    if (mem)
        memcpy(&size, (char *)mem - 8, sizeof size);
    return size;
}

void *realloc(void *mem, size_t size) {
    void *moved = malloc(size);
    if (moved && mem) {
        size_t old = malloc_usable_size(mem);
        memcpy(moved, mem, old < size ? old : size);
    }
    return moved;
}

void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}

int posix_memalign(void **mem, size_t alignment, size_t size) {
    void *got = memalign(alignment, size);
    if (got)
        *mem = got;
    return got ? 0 : ENOMEM;
}
