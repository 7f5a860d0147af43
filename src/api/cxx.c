/* The C++ allocation operators, in C: a program written in C shall not get a C++ runtime from us.
 *
 * What the language asks of a failing `operator new` needs that runtime: the new-handler and
 * std::bad_alloc.  Both are weak references; in a program that has no C++ runtime nobody calls
 * these functions, and should it happen all the same, the process ends with a message.
 *
 * The functions let exceptions through (-fexceptions): the handler may throw. */
#ifndef RUNG_PREFIXED

#include <dlfcn.h>

#include "api/names.h"
#include "base/bits.h"
#include "os/os.h"

typedef void (*new_handler)(void);

/* std::get_new_handler(), std::__throw_bad_alloc() of libstdc++ */
extern new_handler cxx_get_new_handler(void) __asm__("_ZSt15get_new_handlerv") __attribute__((weak));
extern _Noreturn void cxx_throw_bad_alloc(void) __asm__("_ZSt17__throw_bad_allocv")
    __attribute__((weak));

/* struct std::nothrow_t, an empty class passed by reference */
struct nothrow;

static new_handler handler(void) {
    return cxx_get_new_handler != NULL ? cxx_get_new_handler() : NULL;
}

static void *allocate(size_t size, size_t align) {
    return align <= 16 ? OWN(malloc)(size) : OWN(memalign)(align, size);
}

static COLD _Noreturn void fail(void) {
    if (cxx_throw_bad_alloc != NULL)
        cxx_throw_bad_alloc();
    static const char text[] = "rung: operator new: out of memory, and no C++ runtime to throw\n";
    os_write(2, text, sizeof text - 1);
    os_abort();
}

/* As long as a handler is installed it may make room: call it and try again. */
static COLD void *insist(size_t size, size_t align) {
    for (;;) {
        new_handler h = handler();
        if (h == NULL)
            fail();
        h();
        void *mem = allocate(size, align);
        if (mem != NULL)
            return mem;
    }
}

static inline void *new_or_throw(size_t size, size_t align) {
    void *mem = allocate(size, align);
    return LIKELY(mem != NULL) ? mem : insist(size, align);
}

/* The nothrow forms must turn what the handler throws into NULL, and C cannot catch.  The runtime's
   own nothrow operator can: it calls the throwing one, ours, in a try block.  So a failure with a
   handler goes there. */
static COLD void *insist_quietly(const char *symbol, size_t size, size_t align,
                                 const struct nothrow *tag) {
    if (handler() == NULL)
        return NULL;
    void *theirs = dlsym(RTLD_NEXT, symbol);
    if (theirs == NULL)
        return NULL;
    if (align <= 16)
        return ((void *(*)(size_t, const struct nothrow *))theirs)(size, tag);
    return ((void *(*)(size_t, size_t, const struct nothrow *))theirs)(size, align, tag);
}

#define OPERATOR(ret, name, symbol, ...)                                                           \
    EXPORT ret name(__VA_ARGS__) __asm__(symbol);                                                  \
    EXPORT ret name(__VA_ARGS__)

/* ---- new ---- */

OPERATOR(void *, op_new, "_Znwm", size_t size) {
    return new_or_throw(size, 0);
}

OPERATOR(void *, op_new_array, "_Znam", size_t size) {
    return new_or_throw(size, 0);
}

OPERATOR(void *, op_new_aligned, "_ZnwmSt11align_val_t", size_t size, size_t align) {
    return new_or_throw(size, align);
}

OPERATOR(void *, op_new_array_aligned, "_ZnamSt11align_val_t", size_t size, size_t align) {
    return new_or_throw(size, align);
}

OPERATOR(void *, op_new_nothrow, "_ZnwmRKSt9nothrow_t", size_t size, const struct nothrow *tag) {
    void *mem = allocate(size, 0);
    return LIKELY(mem != NULL) ? mem : insist_quietly("_ZnwmRKSt9nothrow_t", size, 0, tag);
}

OPERATOR(void *, op_new_array_nothrow, "_ZnamRKSt9nothrow_t", size_t size,
         const struct nothrow *tag) {
    void *mem = allocate(size, 0);
    return LIKELY(mem != NULL) ? mem : insist_quietly("_ZnamRKSt9nothrow_t", size, 0, tag);
}

OPERATOR(void *, op_new_aligned_nothrow, "_ZnwmSt11align_val_tRKSt9nothrow_t", size_t size,
         size_t align, const struct nothrow *tag) {
    void *mem = allocate(size, align);
    return LIKELY(mem != NULL)
               ? mem
               : insist_quietly("_ZnwmSt11align_val_tRKSt9nothrow_t", size, align, tag);
}

OPERATOR(void *, op_new_array_aligned_nothrow, "_ZnamSt11align_val_tRKSt9nothrow_t", size_t size,
         size_t align, const struct nothrow *tag) {
    void *mem = allocate(size, align);
    return LIKELY(mem != NULL)
               ? mem
               : insist_quietly("_ZnamSt11align_val_tRKSt9nothrow_t", size, align, tag);
}

/* ---- delete: the size and the alignment are in the chunk ---- */

/* Arguments that only select the form. */
#define UNUSED __attribute__((unused))

#define DELETE(name, symbol, ...)                                                                  \
    OPERATOR(void, name, symbol, void *mem __VA_OPT__(, ) __VA_ARGS__) {                           \
        OWN(free)(mem);                                                                                 \
    }

DELETE(op_delete, "_ZdlPv")
DELETE(op_delete_sized, "_ZdlPvm", UNUSED size_t size)
DELETE(op_delete_aligned, "_ZdlPvSt11align_val_t", UNUSED size_t align)
DELETE(op_delete_sized_aligned, "_ZdlPvmSt11align_val_t", UNUSED size_t size, UNUSED size_t align)
DELETE(op_delete_nothrow, "_ZdlPvRKSt9nothrow_t", UNUSED const struct nothrow *tag)
DELETE(op_delete_aligned_nothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t", UNUSED size_t align, UNUSED const struct nothrow *tag)
DELETE(op_delete_array, "_ZdaPv")
DELETE(op_delete_array_sized, "_ZdaPvm", UNUSED size_t size)
DELETE(op_delete_array_aligned, "_ZdaPvSt11align_val_t", UNUSED size_t align)
DELETE(op_delete_array_sized_aligned, "_ZdaPvmSt11align_val_t", UNUSED size_t size, UNUSED size_t align)
DELETE(op_delete_array_nothrow, "_ZdaPvRKSt9nothrow_t", UNUSED const struct nothrow *tag)
DELETE(op_delete_array_aligned_nothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t", UNUSED size_t align, UNUSED const struct nothrow *tag)

#endif
