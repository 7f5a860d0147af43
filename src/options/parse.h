/* Options as text: the environment, and the name=value of RUNG_OPTIONS and the command line.
 * Nothing here allocates, modifies the text, or reads the locale. */
#ifndef RUNG_OPTIONS_PARSE_H
#define RUNG_OPTIONS_PARSE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fmt.h"
#include "options/options.h"

/* A piece of somebody else's text; not terminated. */
struct span {
    const char *s;
    size_t len;
};

struct span span_of(const char *text);

/* Sets all options from the environment.  Rising precedence: the profile, the options' own
   variables (MALLOC_ARENA_MAX and the like), GLIBC_TUNABLES, RUNG_OPTIONS.  `secure` (the process
   has privileges that its caller had not): the environment has no say, and the profile is
   `default`.  What RUNG_OPTIONS gets wrong is said on stderr, a line each; the first two are as
   silent as glibc's malloc.  envp may be NULL. */
void options_read_environment(char *const *envp, bool secure);

/* A number as glibc reads those of its tunables and variables: blanks, a sign, then decimal, octal
   (0...) or hexadecimal (0x...).  Nothing may follow; nothing at all is 0. */
bool number_from_glibc_text(struct span text, size_t *value);

/* A value as RUNG_OPTIONS takes it: decimal, octal or hexadecimal without a sign; for BYTES with
   k, m or g behind it in either case; for BOOL on, off, yes, no, true, false, 1 or 0. */
bool number_from_option_text(struct span text, enum option_type type, size_t *value);

/* What a name=value of RUNG_OPTIONS or of the command line says. */
enum assignment_kind {
    SETS_OPTION,    /* `option` to `value` */
    SETS_PROFILE,   /* `profile` */
    NO_EQUALS_SIGN, /* from here on: nothing, because of this */
    NO_SUCH_OPTION,
    NO_SUCH_VALUE, /* of `option`: not of its type, or outside its range */
    NO_SUCH_PROFILE,
};

struct assignment {
    enum assignment_kind kind;
    enum option option;
    size_t value;
    enum profile profile;
};

/* Understands it and changes nothing. */
struct assignment assignment_read(struct span text);

static inline bool assignment_faulty(const struct assignment *a) {
    return a->kind != SETS_OPTION && a->kind != SETS_PROFILE;
}

/* Says what is wrong with a faulty one, what is allowed and where to look; no end of line. */
void assignment_explain(struct text *to, struct span text, const struct assignment *faulty);

/* The values that an option takes, in words: "a number from 0 to 65535". */
void option_range_text(struct text *to, enum option which);

#endif
