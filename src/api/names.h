/* How the exported functions are called.
 *
 * The ordinary build defines malloc, free, ... themselves.  The prefixed one defines rung_malloc,
 * rung_free, ...: for tests and sanitizers, and for programs that want both allocators side by
 * side. */
#ifndef RUNG_API_NAMES_H
#define RUNG_API_NAMES_H

#ifdef RUNG_PREFIXED
#define NAME(f) rung_##f
#else
#define NAME(f) f
#endif

#ifdef __ASSEMBLER__

/* The other names of malloc and free, where they are written in assembler. */
#ifdef RUNG_PREFIXED
#define ALIASES_OF_HITS
#else
#define ALIASES_OF_HITS                                                                            \
    .globl __libc_malloc, __libc_free, cfree;                                                      \
    .set __libc_malloc, malloc;                                                                    \
    .set __libc_free, free;                                                                        \
    .set cfree, free
#endif
#define OWN_NAMES_OF_HITS                                                                          \
    .globl own_malloc, own_free;                                                                   \
    .hidden own_malloc, own_free;                                                                  \
    .set own_malloc, NAME(malloc);                                                                 \
    .set own_free, NAME(free)

#else

#include "base/compiler.h"

/* What the library itself calls: the same functions under names that nobody can interpose.  Beside
   another malloc (dlopen) the plain names lead there. */
#define STRING_OF(x) #x
#define STRING(x) STRING_OF(x)
#define OWN(f) own_##f
#define DEFINE_OWN(f)                                                                              \
    extern __typeof__(NAME(f)) OWN(f) __attribute__((alias(STRING(NAME(f))) COPIED_FROM(NAME(f))))

/* gcc warns when a second name lacks what the first one's prototype promises. */
#if defined(__GNUC__) && !defined(__clang__)
#define COPIED_FROM(f) , copy(f)
#else
#define COPIED_FROM(f)
#endif

/* A second name for a function of this file; only the ordinary build has them. */
#ifdef RUNG_PREFIXED
#define ALIAS(second, f)
#else
#define ALIAS(second, f)                                                                           \
    extern EXPORT __typeof__(f) second __attribute__((alias(#f) COPIED_FROM(f)))
#endif

/* The prototypes, as libc's headers have them, for those that this libc's headers may lack and for
   the prefixed names. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

void *NAME(malloc)(size_t req);
void NAME(free)(void *mem);
void *NAME(calloc)(size_t n, size_t size);
void *NAME(realloc)(void *mem, size_t req);
void *NAME(reallocarray)(void *mem, size_t n, size_t size);
void *NAME(memalign)(size_t align, size_t req);
void *NAME(aligned_alloc)(size_t align, size_t req);
int NAME(posix_memalign)(void **mem, size_t align, size_t req);
void *NAME(valloc)(size_t req);
void *NAME(pvalloc)(size_t req);
void NAME(free_sized)(void *mem, size_t req);
void NAME(free_aligned_sized)(void *mem, size_t align, size_t req);
size_t NAME(memalignment)(const void *mem);
size_t NAME(malloc_usable_size)(void *mem);
int NAME(mallopt)(int parameter, int value);
struct mallinfo NAME(mallinfo)(void);
struct mallinfo2 NAME(mallinfo2)(void);
void NAME(malloc_stats)(void);
int NAME(malloc_info)(int options, FILE *out);
int NAME(malloc_trim)(size_t pad);

void *OWN(malloc)(size_t req);
void OWN(free)(void *mem);
void *OWN(realloc)(void *mem, size_t req);
void *OWN(memalign)(size_t align, size_t req);

#endif
#endif
