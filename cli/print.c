#include "print.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void print_wrapped(const char *text, int indent) {
    const size_t width = (size_t)(80 - indent);
    while (*text != '\0') {
        size_t len = strlen(text);
        if (len > width) {
            len = width;
            while (len > 0 && text[len] != ' ')
                len--;
            if (len == 0)
                len = strcspn(text, " ");
        }
        printf("%*s%.*s\n", indent, "", (int)len, text);
        text += len;
        text += strspn(text, " ");
    }
}

void print_markdown(const char *text) {
    bool in_word = false;
    for (; *text != '\0'; text++) {
        const bool underscore_in_word = *text == '_' && in_word && isalnum((unsigned char)text[1]);
        if (strchr("\\|<>*_`[]", *text) != NULL && !underscore_in_word)
            putchar('\\');
        putchar(*text);
        in_word = isalnum((unsigned char)*text) != 0;
    }
}

void print_json_string(const char *text) {
    if (text == NULL) {
        fputs("null", stdout);
        return;
    }
    putchar('"');
    for (; *text != '\0'; text++) {
        const unsigned char ch = (unsigned char)*text;
        if (ch == '"' || ch == '\\')
            printf("\\%c", ch);
        else if (ch < 0x20)
            printf("\\u%04x", ch);
        else
            putchar(ch);
    }
    putchar('"');
}

void print_page_head(const char *title, const char *command, const char *table) {
    printf("# %s\n\n"
           "<!-- Written by `%s` from %s; tools/gendocs renews it. -->\n\n",
           title, command, table);
}
