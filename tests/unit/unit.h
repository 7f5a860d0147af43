/* What the tests of the core share. */
#ifndef RUNG_TESTS_UNIT_H
#define RUNG_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/names.h"
#include "arena/arena.h"
#include "double.h"
#include "options/options.h"
#include "os/os.h"
#include "rung/rung.h"

/* Runs each test in a process of its own, which has the allocator as the library's constructor leaves it:
   started, without any memory.  Returns the number of failures, for main. */
int unit_run(const struct CMUnitTest *tests, size_t n);

#define UNIT_RUN(tests) unit_run((tests), sizeof(tests) / sizeof(tests)[0])

/* Every arena passes its check, and every byte that the system gave is accounted for. */
void assert_sound(void);

/* What arenas, mapped chunks and metadata say they have of accessible memory, together. */
size_t accounted_bytes(void);

/* The chunk size of a block. */
size_t chunk_bytes(const void *mem);

/* Sets an option without ending the adaptation of the thresholds, as a profile does. */
void assume(enum option which, size_t value);

/* No thread cache for the calling thread, which must not have one yet: each free reaches the arena. */
void without_cache(void);

/* f, in a process of its own, ends with SIGABRT after a message on stderr that starts with `message`. */
void assert_dies(void (*f)(void), const char *message);

/* Runs f(argument) in a thread and waits for it. */
void in_thread(void (*f)(void *), void *argument);

/* Allocates size bytes n times into blocks / frees blocks. */
void take(void **blocks, size_t n, size_t size);
void give(void **blocks, size_t n);

#endif
