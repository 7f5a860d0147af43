#include "base/fmt.h"

#include <stdbool.h>
#include <stdint.h>

struct text text_in(char *buf, size_t cap) {
    buf[0] = '\0';
    return (struct text){.buf = buf, .cap = cap};
}

static void put(struct text *t, char ch) {
    if (t->len + 1 >= t->cap) {
        t->truncated = 1;
        return;
    }
    t->buf[t->len++] = ch;
    t->buf[t->len] = '\0';
}

/* How one conversion wants its field filled. */
struct field {
    unsigned width;
    bool left;
    bool zeros;
};

static void put_field(struct text *t, struct field f, const char *s, size_t n) {
    size_t pad = f.width > n ? f.width - n : 0;
    for (; pad > 0 && !f.left; pad--)
        put(t, f.zeros ? '0' : ' ');
    for (size_t i = 0; i < n; i++)
        put(t, s[i]);
    for (; pad > 0; pad--)
        put(t, ' ');
}

static void put_number(struct text *t, struct field f, uint64_t value, unsigned base, bool minus) {
    char digits[24];
    size_t at = sizeof digits;
    do {
        digits[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value != 0);
    if (minus)
        digits[--at] = '-';
    put_field(t, f, digits + at, sizeof digits - at);
}

static void put_string(struct text *t, struct field f, const char *s) {
    if (s == NULL)
        s = "(null)";
    size_t n = 0;
    while (s[n] != '\0')
        n++;
    put_field(t, f, s, n);
}

void text_add_list(struct text *t, const char *format, va_list args) {
    for (const char *s = format; *s != '\0'; s++) {
        if (*s != '%') {
            put(t, *s);
            continue;
        }
        const char *start = s++;
        struct field f = {0};
        for (; *s == '-' || *s == '0'; s++)
            *(*s == '-' ? &f.left : &f.zeros) = true;
        for (; *s >= '0' && *s <= '9'; s++)
            f.width = f.width * 10 + (unsigned)(*s - '0');
        bool wide = false;
        for (; *s == 'z' || *s == 'l'; s++)
            wide = true;
        switch (*s) {
        case 's':
            put_string(t, f, va_arg(args, const char *));
            break;
        case 'c':
            put(t, (char)va_arg(args, int));
            break;
        case 'd': {
            long v = wide ? va_arg(args, long) : va_arg(args, int);
            put_number(t, f, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, 10, v < 0);
            break;
        }
        case 'u':
            put_number(t, f, wide ? va_arg(args, size_t) : va_arg(args, unsigned), 10, false);
            break;
        case 'x':
            put_number(t, f, wide ? va_arg(args, size_t) : va_arg(args, unsigned), 16, false);
            break;
        case 'p':
            put(t, '0');
            put(t, 'x');
            put_number(t, (struct field){0}, (uintptr_t)va_arg(args, void *), 16, false);
            break;
        case '%':
            put(t, '%');
            break;
        default: /* not ours: show what was written */
            for (; start < s; start++)
                put(t, *start);
            if (*s == '\0')
                return;
            put(t, *s);
        }
    }
}

void text_add(struct text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    text_add_list(t, format, args);
    va_end(args);
}
