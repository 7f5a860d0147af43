#include "runs/filled.h"

#include "os/os.h"

enum {
    ENOUGH = 2,     /* so many in a row were full */
    TRY_EVERY = 16, /* one in so many does without huge pages */
};

static void look(struct filled *f) {
    if (f->watched == NULL)
        return;
    size_t resident = os_resident(f->watched, f->len);
    f->watched = NULL;
    if (resident < f->len - f->len / 16)
        f->full_in_a_row = 0;
    else if (f->full_in_a_row < ENOUGH)
        f->full_in_a_row++;
}

bool filled_expected(struct filled *f, char *start, size_t len) {
    look(f);
    if (f->full_in_a_row >= ENOUGH && ++f->expected % TRY_EVERY != 0)
        return true;
    f->watched = start;
    f->len = len;
    return false;
}

void filled_before_give(struct filled *f, const char *start, size_t bytes) {
    if (f->watched != NULL && f->watched < start + bytes && start < f->watched + f->len)
        look(f);
}
