/* One collector, its printers, and what the interface says (row E4). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena/arenas.h"
#include "arena/heap.h"
#include "base/counter.h"
#include "report/lookup.h"
#include "report/print.h"
#include "runs/block.h"
#include "unit.h"

static void test_snapshot_of_an_empty_arena(void **state) {
    (void)state;
    struct arena_snapshot s;
    snapshot_arena(&main_arena, &s);
    assert_int_equal(s.system, 0);
    assert_int_equal(s.free_chunks, 1); /* top counts even before it exists */
    assert_int_equal(s.free_bytes, 0);
    assert_true(s.main);
}

static void test_snapshot(void **state) {
    (void)state;
    without_cache();
    void *p[7];
    take(p, 7, 100);
    void *large = rung_malloc(5000);
    void *wall = rung_malloc(16);
    rung_free(p[1]);
    rung_free(p[3]);
    rung_free(large);
    struct arena_snapshot s;
    snapshot_arena(&main_arena, &s);
    assert_int_equal(s.system, 135168);
    assert_int_equal(s.free_chunks, 4);
    assert_int_equal(s.top_bytes, top_size(&main_arena));
    assert_int_equal(s.free_bytes, 2 * 112 + 5008 + s.top_bytes);
    assert_int_equal(s.bin[7].count, 2);
    assert_int_equal(s.bin[7].smallest, 112);
    assert_int_equal(s.bin[7].bytes, 224);
    assert_int_equal(s.bin[BIN_UNSORTED].count, 1);
    assert_int_equal(s.bin[BIN_UNSORTED].largest, 5008);
    struct mallinfo2 m = rung_mallinfo2();
    assert_int_equal(m.ordblks, 4);
    assert_int_equal(m.fordblks, s.free_bytes);
    assert_int_equal(m.uordblks, 5 * 112 + 32);
    assert_int_equal(m.keepcost, s.top_bytes);
    assert_int_equal(m.smblks, 0);
    assert_int_equal(m.fsmblks, 0);
    assert_int_equal(m.usmblks, 0);
    rung_free(wall);
}

static char *printed(int (*print)(FILE *)) {
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    assert_non_null(f);
    assert_int_equal(print(f), 0);
    fclose(f);
    return text;
}

static int info(FILE *f) {
    return rung_malloc_info(0, f);
}

/* To the byte, as glibc 2.43 writes it. */
static void test_xml(void **state) {
    (void)state;
    without_cache();
    void *p = rung_malloc(100), *wall = rung_malloc(16), *large = rung_malloc(5000);
    rung_malloc(16);
    rung_free(p);
    rung_free(large);
    rung_malloc(200000);
    self.arena = NULL;
    void *blocks[64];
    take(blocks, 64, 4096);
    char *text = printed(info);
    size_t rest = top_size(&main_arena);
    char expected[2000];
    snprintf(expected, sizeof expected,
             "<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n"
             "<size from=\"112\" to=\"112\" total=\"112\" count=\"1\"/>\n"
             "<size from=\"5008\" to=\"5008\" total=\"5008\" count=\"1\"/>\n"
             "</sizes>\n<total type=\"rest\" count=\"3\" size=\"%zu\"/>\n"
             "<system type=\"current\" size=\"135168\"/>\n<system type=\"max\" size=\"135168\"/>\n"
             "<aspace type=\"total\" size=\"135168\"/>\n<aspace type=\"mprotect\" size=\"135168\"/>\n</heap>\n"
             "<heap nr=\"1\">\n<sizes>\n"
             "</sizes>\n<total type=\"rest\" count=\"1\" size=\"912\"/>\n"
             "<system type=\"current\" size=\"266240\"/>\n<system type=\"max\" size=\"266240\"/>\n"
             "<aspace type=\"total\" size=\"266240\"/>\n<aspace type=\"mprotect\" size=\"266240\"/>\n"
             "<aspace type=\"subheaps\" size=\"1\"/>\n</heap>\n"
             "<total type=\"rest\" count=\"4\" size=\"%zu\"/>\n<total type=\"mmap\" count=\"1\" size=\"200704\"/>\n"
             "<system type=\"current\" size=\"401408\"/>\n<system type=\"max\" size=\"401408\"/>\n"
             "<aspace type=\"total\" size=\"401408\"/>\n<aspace type=\"mprotect\" size=\"401408\"/>\n</malloc>\n",
             112 + 5008 + rest, 112 + 5008 + rest + 912);
    assert_string_equal(text, expected);
    free(text);
    rung_free(wall);
    assert_int_equal(rung_malloc_info(1, stdout), EINVAL);
}

/* Every bin filled, with numbers as long as they get: no line is cut off. */
static void test_longest_xml(void **state) {
    (void)state;
    static struct arena_snapshot s;
    memset(&s, 0xff, sizeof s);
    s.main = false;
    char *buf = malloc(PRINT_MAX);
    struct text t = text_in(buf, PRINT_MAX);
    xml_arena(&t, &s);
    assert_false(t.truncated);
    free(buf);
}

static void test_stats(void **state) {
    (void)state;
    struct arena_snapshot s = {.number = 3, .system = 266240, .free_bytes = 912};
    struct totals sum = {.system = 401408, .free_bytes = 1912};
    char buf[1000];
    struct text t = text_in(buf, sizeof buf);
    stats_arena(&t, &s);
    assert_string_equal(buf, "Arena 3:\nsystem bytes     =     266240\nin use bytes     =     265328\n");
    rung_malloc(200000);
    t = text_in(buf, sizeof buf);
    stats_close(&t, &sum);
    assert_string_equal(buf, "Total (incl. mmap):\nsystem bytes     =     602112\nin use bytes     =     600200\n"
                             "max mmap regions =          1\nmax mmap bytes   =     200704\n");
}

/* Every byte that the system gave is in one place. */
static void test_account(void **state) {
    (void)state;
    struct account a;
    struct class_account classes[RUN_BINS];
    snapshot_account(&a, classes);
    assert_int_equal(a.live, 0);
    without_cache();
    void *p[300], *q[300];
    take(p, 300, 1000);
    void *wall = rung_malloc(16);
    self.arena = NULL;
    take(q, 300, 5000);
    void *mapped = rung_malloc(200000);
    for (int i = 0; i < 300; i += 2) {
        rung_free(p[i]);
        rung_free(q[i]);
    }
    snapshot_account(&a, classes);
    assert_int_equal(a.live, 150 * 1008 + 32 + 150 * 5008);
    assert_int_equal(a.mapped, 200704);
    assert_int_equal(a.accessible - a.metadata_own + a.mapped + counter_get(COUNT_META_MAPPED), double_accessible());
    assert_int_equal(a.arenas, 2);
    assert_int_equal(a.heaps, 1);
    assert_true(a.free_purged + a.free_resident > 0 && a.pinned > 0);
    struct chunk *c = chunk_of_mem(q[1]);
    arena_post(arena_next(&main_arena), c); /* what waits in an inbox is free by then */
    snapshot_account(&a, classes);
    assert_int_equal(a.live, 150 * 1008 + 32 + 149 * 5008);
    assert_int_equal(a.cached_inboxes, 0);
    rung_free(mapped);
    rung_free(wall);
}

static void test_account_of_runs(void **state) {
    (void)state;
    struct account a;
    struct class_account classes[RUN_BINS];
    assume(OPT_RUNS, 1);
    assume(OPT_RUN_BLOCK_MAX, BLOCK_MAX);
    without_cache();
    static void *p[3000];
    take(p, 3000, 200);
    void *block = rung_malloc(100000);
    for (int i = 0; i < 3000; i += 3)
        rung_free(p[i]);
    snapshot_account(&a, classes);
    unsigned bin = run_bin_of_request(200);
    size_t block_bytes = rung_malloc_usable_size(block);
    assert_int_equal(a.live + a.cached_depot, 2000 * 208 + a.cached_depot + block_bytes);
    assert_int_equal(classes[bin].out, 2000 + classes[bin].cached);
    assert_int_equal(classes[bin].runs * (RUN_SIZE / 208), classes[bin].out + classes[bin].free);
    assert_int_equal(classes[bin].runs * RUN_SIZE,
                     classes[bin].out * 208 + classes[bin].pinned + classes[bin].free_pages);
    assert_int_equal(a.accessible - a.metadata_own + counter_get(COUNT_META_MAPPED), double_accessible());
    struct mallinfo2 m = rung_mallinfo2();
    assert_int_equal(m.uordblks, a.live + a.cached_depot);
    assert_int_equal(m.arena, m.uordblks + m.fordblks);
    rung_free(block);
}

/* As long as they get: nothing is cut off. */
static void test_longest_reports(void **state) {
    (void)state;
    struct account a;
    struct class_account classes[RUN_BINS];
    size_t counts[COUNTER_COUNT];
    memset(&a, 0xff, sizeof a);
    memset(classes, 0xff, sizeof classes);
    memset(counts, 0xff, sizeof counts);
    char *buf = malloc(REPORT_MAX);
    struct text t = text_in(buf, REPORT_MAX);
    json_report(&t, &a, classes, counts);
    assert_false(t.truncated);
    t = text_in(buf, REPORT_MAX);
    prometheus_report(&t, &a, classes, counts);
    assert_false(t.truncated);
    assert_int_equal(rung_stats_json(buf, 100), 0);
    assert_int_equal(rung_stats_prometheus(buf, 0), 0);
    free(buf);
}

static void test_counters_by_name(void **state) {
    (void)state;
    size_t value;
    assert_false(counter_lookup("no such counter", &value));
    assert_int_equal(rung_counter("no such counter"), 0);
    void *p = rung_malloc(200000);
    assert_int_equal(rung_counter("mapped_chunks"), 1);
    assert_int_equal(rung_counter("mapped_bytes"), 200704);
    rung_free(p);
    assert_int_equal(rung_counter("mapped_chunks"), 0);
    assert_int_equal(rung_counter("mapped_chunks_max"), 1);
    assert_int_equal(rung_counter("threshold_raises"), 1);
    assert_int_equal(rung_counter("arenas"), 1);
    assert_int_equal(rung_counter("sys_munmap"), double_calls(VERB_UNMAP));
    assert_int_equal(rung_option("tcache_count"), 16);
    assert_int_equal(rung_option("no such option"), 0);
    assert_string_equal(rung_version(), RUNG_VERSION);
}

static void nothing(void *unused) {
    (void)unused;
}

static void test_lock_counters(void **state) {
    (void)state;
    without_cache();
    rung_free(rung_malloc(100));
    if (single_threaded()) /* under a sanitizer there is its own thread */
        assert_int_equal(rung_counter("lock_acquisitions"), 0);
    in_thread(nothing, NULL);
    size_t before = rung_counter("lock_acquisitions");
    rung_free(rung_malloc(100));
    /* malloc and free; this look takes none. */
    assert_int_equal(rung_counter("lock_acquisitions"), before + 2);
    assert_int_equal(rung_counter("lock_waits"), 0);
}

/* A damaged heap is reported, with the arena and what is wrong. */
static void test_heap_check(void **state) {
    (void)state;
    without_cache();
    void *p = rung_malloc(100), *q = rung_malloc(100);
    assert_int_equal(rung_heap_check(), 0);
    size_t *head = (size_t *)((char *)q - 8), good = *head;
    *head &= ~(size_t)1;
    assert_int_equal(rung_heap_check(), 1);
    *head = good + 16;
    assert_int_equal(rung_heap_check(), 1);
    *head = good;
    assert_int_equal(rung_heap_check(), 0);
    rung_free(p);
    struct chunk *c = chunk_of_mem(p);
    struct link kept = c->link;
    c->link.next = &c->link;
    assert_int_equal(rung_heap_check(), 1);
    c->link = kept;
    chunk_next(c)->foot += 16;
    assert_int_equal(rung_heap_check(), 1);
    chunk_next(c)->foot -= 16;
    main_arena.bins.map[0] = 0;
    assert_int_equal(rung_heap_check(), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_snapshot_of_an_empty_arena),
        cmocka_unit_test(test_snapshot),
        cmocka_unit_test(test_xml),
        cmocka_unit_test(test_longest_xml),
        cmocka_unit_test(test_stats),
        cmocka_unit_test(test_account),
        cmocka_unit_test(test_account_of_runs),
        cmocka_unit_test(test_longest_reports),
        cmocka_unit_test(test_counters_by_name),
        cmocka_unit_test(test_lock_counters),
        cmocka_unit_test(test_heap_check),
    };
    return UNIT_RUN(tests);
}
