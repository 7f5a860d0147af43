/* A printf into a buffer that never allocates, never locks and never reads the locale, so that it
   may be called with any lock held and from a signal handler. */
#ifndef RUNG_BASE_FMT_H
#define RUNG_BASE_FMT_H

#include <stdarg.h>
#include <stddef.h>

#include "base/compiler.h"

/* Text under construction.  `len` counts what is in `buf`; what does not fit is dropped and
   `truncated` says so.  The text is always terminated. */
struct text {
    char *buf;
    size_t cap; /* bytes in buf, the terminator included; at least 1 */
    size_t len;
    int truncated;
};

struct text text_in(char *buf, size_t cap);

/* Understands %s %c %d %u %zu %lu %x %zx %p %%, with a minimum width ("%10zu"), a '-' to
   left-justify and a '0' to fill with zeros; anything else is printed as it stands. */
void text_add(struct text *t, const char *format, ...) PRINTF_LIKE(2, 3);
void text_add_list(struct text *t, const char *format, va_list args);

#endif
