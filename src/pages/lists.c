#include "pages/lists.h"

#include "base/bitmap.h"

/* For an alignment so many spans are looked at that may or may not have room at a multiple of it, before one is
   taken that is long enough in any case; so many also of a class in which some are too short. */
enum { LOOKS = 16, LOOKS_IN_CLASS = 4 };

struct page_map *page_windows[WINDOWS_MAX];
unsigned page_windows_end = 1;

struct span_list {
    span_id first;
    span_id last;
};

struct span_lists {
    uint64_t filled[SPAN_CLASSES / WORD_BITS];
    struct span_list of[SPAN_CLASSES];
};

static struct span_lists all[SPACE_KINDS][2]; /* [0]: gone and closed; [1]: resident */
static struct span_list age;                  /* the warmest first */

/* ---- windows ---- */

unsigned windows_add(struct page_map *m) {
    unsigned number = 1;
    while (number < page_windows_end && page_windows[number] != NULL)
        number++;
    if (number == WINDOWS_MAX)
        return 0;
    if (number == page_windows_end)
        page_windows_end++;
    page_windows[number] = m;
    return number;
}

void windows_remove(struct page_map *m) {
    page_windows[m->number] = NULL;
    while (page_windows_end > 1 && page_windows[page_windows_end - 1] == NULL)
        page_windows_end--;
}

/* ---- links ---- */

static span_id id_of(const struct page_map *m, size_t page) {
    return (span_id)m->number << SPAN_PAGE_BITS | (span_id)page;
}

static struct span_links *length_links(span_id id) {
    return &span_map(id)->by_length[span_page(id)];
}

static struct span_links *age_links(span_id id) {
    return &span_map(id)->by_age[span_page(id) / 2];
}

/* Puts id, whose links are `own`, behind `before`; 0: at the front. */
static void insert(struct span_list *l, struct span_links *(*links)(span_id), span_id id, span_id before) {
    struct span_links *own = links(id);
    own->prev = before;
    own->next = before != 0 ? links(before)->next : l->first;
    *(before != 0 ? &links(before)->next : &l->first) = id;
    *(own->next != 0 ? &links(own->next)->prev : &l->last) = id;
}

static void unlink_span(struct span_list *l, struct span_links *(*links)(span_id), span_id id) {
    const struct span_links *own = links(id);
    *(own->prev != 0 ? &links(own->prev)->next : &l->first) = own->next;
    *(own->next != 0 ? &links(own->next)->prev : &l->last) = own->prev;
}

static struct span_lists *lists_of(const struct page_map *m, size_t page) {
    return &all[m->kind][m->state[page] == SPAN_RESIDENT];
}

void lists_add(struct page_map *m, size_t page, span_id warmer) {
    struct span_lists *lists = lists_of(m, page);
    unsigned class = span_class(m->pages[page]);
    struct span_list *l = &lists->of[class];
    span_id id = id_of(m, page);
    insert(l, length_links, id, l->first == 0 || id < l->first ? 0 : l->last);
    lists->filled[class / WORD_BITS] |= (uint64_t)1 << class % WORD_BITS;
    if (m->state[page] == SPAN_RESIDENT)
        insert(&age, age_links, id, warmer);
}

span_id lists_remove(struct page_map *m, size_t page) {
    struct span_lists *lists = lists_of(m, page);
    unsigned class = span_class(m->pages[page]);
    struct span_list *l = &lists->of[class];
    span_id id = id_of(m, page);
    unlink_span(l, length_links, id);
    if (l->first == 0)
        lists->filled[class / WORD_BITS] &= ~((uint64_t)1 << class % WORD_BITS);
    if (m->state[page] != SPAN_RESIDENT)
        return 0;
    unlink_span(&age, age_links, id);
    return age_links(id)->prev;
}

/* ---- finding ---- */

/* Whether span id has room for n pages at a multiple of align. */
static bool has_room(span_id id, size_t n, size_t align, size_t *at) {
    size_t page = span_page(id);
    size_t end = page + span_map(id)->pages[page];
    *at = align_up(page, align);
    return *at + n <= end;
}

static unsigned next_filled(const struct span_lists *l, unsigned class) {
    return (unsigned)bits_next_set(l->filled, class, SPAN_CLASSES);
}

span_id lists_find(enum space_kind kind, bool resident, size_t n, size_t align, size_t *at) {
    struct span_lists *l = &all[kind][resident];
    unsigned certain = span_class_fitting(n + align - 1);
    unsigned looks = 0;
    for (unsigned class = next_filled(l, span_class(n)); class < certain && class < SPAN_CLASSES && looks < LOOKS;
         class = next_filled(l, class + 1)) {
        unsigned in_class = 0;
        for (span_id id = l->of[class].first; id != 0 && in_class++ < LOOKS_IN_CLASS; id = length_links(id)->next)
            if (has_room(id, n, align, at))
                return id;
        looks += in_class;
    }
    unsigned class = certain < SPAN_CLASSES ? next_filled(l, certain) : SPAN_CLASSES;
    if (class == SPAN_CLASSES)
        return 0;
    span_id id = l->of[class].first;
    return has_room(id, n, align, at) ? id : 0;
}

span_id lists_coldest(void) {
    return age.last;
}

span_id lists_warmer(span_id id) {
    return age_links(id)->prev;
}

/* ---- looking ---- */

static bool is_linked(const struct span_list *l, struct span_links *(*links)(span_id), span_id id) {
    const struct span_links *own = links(id);
    return (own->prev != 0 ? links(own->prev)->next : l->first) == id &&
           (own->next != 0 ? links(own->next)->prev : l->last) == id;
}

bool lists_have(const struct page_map *m, size_t page) {
    const struct span_lists *lists = lists_of(m, page);
    unsigned class = span_class(m->pages[page]);
    span_id id = id_of(m, page);
    return (lists->filled[class / WORD_BITS] >> class % WORD_BITS & 1) != 0 &&
           is_linked(&lists->of[class], length_links, id) &&
           (m->state[page] != SPAN_RESIDENT || is_linked(&age, age_links, id));
}
