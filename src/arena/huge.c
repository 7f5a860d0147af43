#include "arena/huge.h"

#include <sys/mman.h>

#include "arena/heap.h"
#include "base/bits.h"
#include "options/options.h"
#include "options/threshold.h"
#include "os/os.h"

struct huge_policy huge;

void huge_init(void) {
    size_t wish = option(OPT_HUGETLB);
    if (wish == 0)
        return;
    os_read_huge_page_facts();
    if (wish == 1) {
        huge.thp = os_facts.thp_on_request ? os_facts.thp : 0;
        return;
    }
    size_t page = option_huge_page();
    if (page == 0)
        return;
    huge.page = page;
    huge.flags = MAP_HUGETLB | (int)(log2_floor(page) << 26); /* MAP_HUGE_SHIFT, linux/mman.h */
    if (page <= HEAP_MAX) {
        huge.no_break = true;
        thresholds_for_huge_pages(page);
    }
}

void huge_advise(void *start, size_t len) {
    if (huge.thp == 0 || len < huge.thp)
        return;
    char *from = ptr_align_down(start, os_facts.page);
    os_advise_huge(from, (size_t)((char *)start + len - from));
}
