/* How the process ends when the heap is found corrupted. */
#ifndef RUNG_GUARD_FATAL_H
#define RUNG_GUARD_FATAL_H

#include <stddef.h>

#include "base/compiler.h"

enum message {
#define MSG(id, text, meaning) MSG_##id,
#include "guard/messages.def"
#undef MSG
    MESSAGE_COUNT
};

extern const char *const message_text[MESSAGE_COUNT];

/* Writes the message's text alone on a line, then a line that names the object: the user's pointer
   `mem` and the word in front of it (`head`, as it was read; 0 when it could not be).  Then SIGABRT.
   May be called with locks held: a handler that allocates is served around them. */
_Noreturn COLD void die(enum message which, const void *mem, size_t head);

/* For `mem` that no caller handed over (an internal structure). */
_Noreturn COLD void die_internal(const char *what, const char *file, int line);

#endif
