#include "options/parse.h"

#include <stdint.h>

#include "os/os.h"

/* ---- pieces of text ---- */

struct span span_of(const char *text) {
    size_t len = 0;
    while (text[len] != '\0')
        len++;
    return (struct span){text, len};
}

static bool span_is(struct span a, const char *text) {
    for (size_t i = 0; i < a.len; i++) {
        if (text[i] == '\0' || text[i] != a.s[i])
            return false;
    }
    return text[a.len] == '\0';
}

static struct span span_from(struct span a, size_t at) {
    return (struct span){a.s + at, a.len - at};
}

/* The part in front of the first `stop`; `rest` is what is behind it.  Without one: all of it,
   and an empty rest. */
static struct span span_until(struct span a, char stop, struct span *rest) {
    size_t at = 0;
    while (at < a.len && a.s[at] != stop)
        at++;
    *rest = span_from(a, at < a.len ? at + 1 : at);
    return (struct span){a.s, at};
}

/* What "NAME=..." says when its name is `name`. */
static bool variable_is(const char *variable, const char *name, struct span *value) {
    size_t at = 0;
    while (name[at] != '\0' && variable[at] == name[at])
        at++;
    if (name[at] != '\0' || variable[at] != '=')
        return false;
    *value = span_of(variable + at + 1);
    return true;
}

/* ---- numbers ---- */

static int digit_value(char ch) {
    if (ch >= '0' && ch <= '9')
        return ch - '0';
    if (ch >= 'a' && ch <= 'f')
        return ch - 'a' + 10;
    if (ch >= 'A' && ch <= 'F')
        return ch - 'A' + 10;
    return 16;
}

static bool has_hex_prefix(struct span text) {
    return text.len >= 2 && text.s[0] == '0' && (text.s[1] == 'x' || text.s[1] == 'X');
}

/* Takes the digits at the front of *text, whose form says what base they have.  Stops before the
   first character that is no digit, or that would take the number to more than SIZE_MAX - spare *
   base: what is left over tells. */
static size_t take_digits(struct span *text, size_t spare) {
    size_t base = 10, at = 0, value = 0;
    if (has_hex_prefix(*text)) {
        base = 16;
        at = 2;
    } else if (text->len >= 1 && text->s[0] == '0') {
        base = 8;
    }
    for (; at < text->len; at++) {
        size_t digit = (size_t)digit_value(text->s[at]);
        if (digit >= base || value + spare > (SIZE_MAX - digit) / base)
            break;
        value = value * base + digit;
    }
    *text = span_from(*text, at);
    return value;
}

bool number_from_glibc_text(struct span text, size_t *value) {
    size_t at = 0;
    while (at < text.len && (text.s[at] == ' ' || text.s[at] == '\t'))
        at++;
    bool minus = at < text.len && text.s[at] == '-';
    if (minus || (at < text.len && text.s[at] == '+'))
        at++;
    text = span_from(text, at);
    if (text.len > 0 && digit_value(text.s[0]) > 9)
        return false;
    size_t n = take_digits(&text, 1); /* glibc's test for overflow refuses the last few too */
    *value = minus ? 0 - n : n;
    return text.len == 0;
}

static bool word_for_bool(struct span text, size_t *value) {
    static const char *const words[][2] = {
        {"off", "on"}, {"no", "yes"}, {"false", "true"}, {"0", "1"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        for (size_t n = 0; n < 2; n++) {
            if (span_is(text, words[i][n])) {
                *value = n;
                return true;
            }
        }
    }
    return false;
}

bool number_from_option_text(struct span text, enum option_type type, size_t *value) {
    if (type == TYPE_BOOL)
        return word_for_bool(text, value);
    if (text.len == 0 || digit_value(text.s[0]) > 9)
        return false;
    if (has_hex_prefix(text) && (text.len == 2 || digit_value(text.s[2]) > 15))
        return false;
    size_t n = take_digits(&text, 0);
    if (type == TYPE_BYTES && text.len == 1) {
        static const char units[] = "kKmMgG";
        for (unsigned i = 0; units[i] != '\0'; i++) {
            const unsigned shift = 10 * (i / 2 + 1);
            if (text.s[0] == units[i] && n <= SIZE_MAX >> shift) {
                *value = n << shift;
                return true;
            }
        }
    }
    *value = n;
    return text.len == 0;
}

/* ---- name=value ---- */

static bool find_profile(struct span name, enum profile *profile) {
    for (int i = 0; i < PROFILE_COUNT; i++) {
        if (span_is(name, profile_name[i])) {
            *profile = (enum profile)i;
            return true;
        }
    }
    return false;
}

struct assignment assignment_read(struct span text) {
    struct assignment a = {.kind = NO_SUCH_OPTION};
    struct span value;
    struct span name = span_until(text, '=', &value);
    if (name.len == text.len) {
        a.kind = NO_EQUALS_SIGN;
        return a;
    }
    if (span_is(name, "profile")) {
        a.kind = find_profile(value, &a.profile) ? SETS_PROFILE : NO_SUCH_PROFILE;
        return a;
    }
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_info *row = option_info((enum option)i);
        if (!span_is(name, row->name))
            continue;
        a.option = (enum option)i;
        bool fits = number_from_option_text(value, row->type, &a.value) && a.value >= row->min &&
                    a.value <= row->max;
        a.kind = fits ? SETS_OPTION : NO_SUCH_VALUE;
        break;
    }
    return a;
}

void option_range_text(struct text *to, enum option which) {
    const struct option_info *row = option_info(which);
    if (row->type == TYPE_BOOL) {
        text_add(to, "on or off");
        return;
    }
    text_add(to, "a number %sfrom %zu ", row->type == TYPE_BYTES ? "of bytes " : "", row->min);
    if (row->max == SIZE_MAX)
        text_add(to, "up");
    else
        text_add(to, "to %zu", row->max);
    if (row->type == TYPE_BYTES)
        text_add(to, ", also as 64k, 1M or 2g");
}

/* Somebody's text in quotes: shortened, and without the characters that steer terminals. */
static void add_quoted(struct text *to, struct span text) {
    const size_t most = 80;
    text_add(to, "'");
    for (size_t i = 0; i < text.len && i < most; i++) {
        const unsigned char ch = (unsigned char)text.s[i];
        text_add(to, "%c", ch < 0x20 || ch == 0x7f ? '?' : text.s[i]);
    }
    text_add(to, text.len > most ? "...'" : "'");
}

void assignment_explain(struct text *to, struct span text, const struct assignment *faulty) {
    struct span value;
    struct span name = span_until(text, '=', &value);
    switch (faulty->kind) {
    case NO_EQUALS_SIGN:
        add_quoted(to, text);
        text_add(to, " is no name=value; write for instance arena_max=4");
        break;
    case NO_SUCH_OPTION:
        add_quoted(to, name);
        text_add(to, " is no option");
        break;
    case NO_SUCH_VALUE:
        add_quoted(to, value);
        text_add(to, " is no value for %s, which takes ", option_info(faulty->option)->name);
        option_range_text(to, faulty->option);
        break;
    case NO_SUCH_PROFILE:
        add_quoted(to, value);
        text_add(to, " is no profile; there are");
        for (int i = 0; i < PROFILE_COUNT; i++)
            text_add(to, "%s %s", i == 0 ? ":" : ",", profile_name[i]);
        break;
    case SETS_OPTION:
    case SETS_PROFILE:
        return;
    }
    text_add(to, " ('rung tunables' lists the options)");
}

/* ---- the environment ---- */

/* The options' own variables.  Of several of one name the last counts, as in glibc. */
static void read_aliases(char *const *envp) {
    for (int i = 0; i < OPTION_COUNT; i++) {
        const char *alias = option_info((enum option)i)->alias;
        if (alias == NULL)
            continue;
        struct span text = {NULL, 0};
        for (char *const *variable = envp; *variable != NULL; variable++)
            variable_is(*variable, alias, &text);
        size_t value;
        if (text.s != NULL && number_from_glibc_text(text, &value))
            option_set((enum option)i, value, ORIGIN_ALIAS);
    }
}

/* What one GLIBC_TUNABLES says of the tunables that concern us: the last value of each. */
struct tunables {
    struct span option[OPTION_COUNT];
    struct span enable_secure;
};

static void note_tunable(struct tunables *found, struct span name, struct span value) {
    if (span_is(name, "glibc.rtld.enable_secure"))
        found->enable_secure = value;
    for (int i = 0; i < OPTION_COUNT; i++) {
        const char *tunable = option_info((enum option)i)->tunable;
        if (tunable != NULL && span_is(name, tunable))
            found->option[i] = value;
    }
}

/* Splits "name=value:name=value".  As in glibc, a piece without "=" is passed over, unless it is
   the last; that, or a second "=" in a piece, makes the string malformed: false, and none of it
   counts. */
static bool split_tunables(struct span text, struct tunables *found) {
    *found = (struct tunables){0};
    if (text.len == 0)
        return true;
    bool last;
    do {
        struct span rest, value, behind;
        struct span piece = span_until(text, ':', &rest);
        struct span name = span_until(piece, '=', &value);
        last = piece.len == text.len;
        if (name.len == piece.len) {
            if (last)
                return false;
        } else {
            if (span_until(value, '=', &behind).len != value.len)
                return false;
            note_tunable(found, name, value);
        }
        text = rest;
    } while (!last);
    return true;
}

/* glibc's tunable knows only on and off. */
static bool decorate_from_tunable(size_t *value) {
    if (*value > 1)
        return false;
    *value = *value == 1 ? 2 : 0;
    return true;
}

static void read_tunables(char *const *envp) {
    for (; *envp != NULL; envp++) {
        struct span text;
        struct tunables found;
        if (!variable_is(*envp, "GLIBC_TUNABLES", &text) || !split_tunables(text, &found))
            continue;
        for (int i = 0; i < OPTION_COUNT; i++) {
            const enum option which = (enum option)i;
            size_t value;
            if (found.option[i].s == NULL || !number_from_glibc_text(found.option[i], &value))
                continue;
            if (which == OPT_DECORATE_MAPS && !decorate_from_tunable(&value))
                continue;
            option_set(which, value, ORIGIN_TUNABLES);
        }
    }
}

/* glibc.rtld.enable_secure=1: treat the process as if it had privileges of its own. */
static bool wants_to_be_secure(char *const *envp) {
    for (; *envp != NULL; envp++) {
        struct span text;
        struct tunables found;
        size_t value;
        if (variable_is(*envp, "GLIBC_TUNABLES", &text) && split_tunables(text, &found) &&
            found.enable_secure.s != NULL && number_from_glibc_text(found.enable_secure, &value) &&
            value == 1)
            return true;
    }
    return false;
}

static void complain(struct span text, const struct assignment *faulty) {
    char buf[512];
    struct text line = text_in(buf, sizeof buf);
    text_add(&line, "rung: RUNG_OPTIONS: ");
    assignment_explain(&line, text, faulty);
    text_add(&line, "; ignored\n");
    os_write(2, buf, line.len);
}

/* Profiles come before options wherever they stand, so there are two rounds. */
static void read_rung_options(char *const *envp, bool profiles) {
    for (; *envp != NULL; envp++) {
        struct span rest;
        if (!variable_is(*envp, "RUNG_OPTIONS", &rest))
            continue;
        while (rest.len > 0) {
            struct span piece = span_until(rest, ',', &rest);
            if (piece.len == 0)
                continue;
            const struct assignment a = assignment_read(piece);
            if (profiles && a.kind == SETS_PROFILE)
                option_use_profile(a.profile);
            else if (!profiles && a.kind == SETS_OPTION)
                option_set(a.option, a.value, ORIGIN_RUNG_OPTIONS);
            else if (!profiles && assignment_faulty(&a))
                complain(piece, &a);
        }
    }
}

void options_read_environment(char *const *envp, bool secure) {
    option_use_profile(PROFILE_DEFAULT);
    if (secure || envp == NULL || wants_to_be_secure(envp))
        return;
    read_rung_options(envp, true);
    read_aliases(envp);
    read_tunables(envp);
    read_rung_options(envp, false);
}
