/* A circular doubly linked list threaded through the objects themselves.  The head is a link too:
   an empty list's head points at itself. */
#ifndef RUNG_BASE_LIST_H
#define RUNG_BASE_LIST_H

#include <stdbool.h>

#include "base/compiler.h"

struct link {
    struct link *next;
    struct link *prev;
};

static HOT void list_init(struct link *head) {
    head->next = head;
    head->prev = head;
}

static HOT bool list_empty(const struct link *head) {
    return head->next == head;
}

/* Between `before` and its present successor. */
static HOT void list_insert_after(struct link *before, struct link *l) {
    l->next = before->next;
    l->prev = before;
    before->next->prev = l;
    before->next = l;
}

static HOT void list_remove(struct link *l) {
    l->prev->next = l->next;
    l->next->prev = l->prev;
}

#endif
