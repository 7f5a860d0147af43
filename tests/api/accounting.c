// Row N3, N16: every byte has its place. After a random workload what rung_stats() says is live is what
// the program holds, to the byte, and what it says is accessible and resident is what the kernel says of
// the mappings, to a page or two a window. Arguments: the number of threads beside the first.
#include "check.h"
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>

#include "rung/rung.h"

enum { SLOTS = 1500, ROUNDS = 6, STEPS = 4000, THREADS_MAX = 4 };

static void (*stats_of)(struct rung_stats *);
static size_t (*option_of)(const char *);
static bool runs;

// ---- what the program holds

static struct slot {
    pthread_mutex_t lock;
    unsigned char *mem;
} slots[SLOTS];

// A chunk's size word lies in front of it; objects and blocks of runs have none.
static bool has_mapping(void *mem) {
    return runs ? malloc_usable_size(mem) > 32 << 20 : is_mapped(mem);
}

static size_t taken_by(void *mem) {
    return runs ? malloc_usable_size(mem) : chunk_size(mem);
}

static size_t held_bytes(void) {
    size_t bytes = 0;
    for (size_t i = 0; i < SLOTS; i++)
        if (slots[i].mem && !has_mapping(slots[i].mem))
            bytes += taken_by(slots[i].mem);
    return bytes;
}

static size_t some_size(uint64_t *seed) {
    unsigned kind = next_random(seed) % 100;
    if (kind < 80)
        return 1 + next_random(seed) % 600;
    if (kind < 95)
        return 1 + next_random(seed) % 20000;
    return 1 + next_random(seed) % 400000;
}

// The windows that blocks were ever seen in.
static _Atomic unsigned char window_seen[1 << 22];

static void touch(unsigned char *mem, size_t size, size_t written) {
    REQUIRE(mem, "no memory for %zu bytes", size);
    memset(mem, 1, written);
    if (runs ? !has_mapping(mem) : !is_mapped(mem) && (*size_field(mem) & NON_MAIN_ARENA))
        window_seen[(uintptr_t)mem >> 26] = 1;
}

// Any thread frees what any other has allocated.
static void step(uint64_t *seed, unsigned keep) {
    struct slot *s = &slots[next_random(seed) % SLOTS];
    pthread_mutex_lock(&s->lock);
    free(s->mem);
    s->mem = NULL;
    if (next_random(seed) % 4 < keep) {
        size_t size = some_size(seed);
        unsigned how = next_random(seed) % 8;
        s->mem = how == 0 ? memalign((size_t)64 << next_random(seed) % 8, size) : malloc(size);
        // Of the larger ones not all is written to, so that parts stay absent. What realloc copies has
        // been written to: a page that is only read counts as resident, and not to Rss.
        touch(s->mem, size, size > 20000 && how > 4 ? size / 3 : size);
        if (how == 1)
            touch(s->mem = realloc(s->mem, size * 2), size * 2, size * 2);
    }
    pthread_mutex_unlock(&s->lock);
}

// ---- what the kernel says

struct kernel {
    size_t accessible, rss, dirty;
};

// The part of [from, to) that lies in windows where blocks were seen, and how much of that is resident.
static size_t in_windows(uintptr_t from, uintptr_t to, size_t *resident) {
    enum { WINDOW = 1 << 26 };
    static unsigned char pages[WINDOW / 4096];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = 0;
    while (from < to) {
        uintptr_t end = (from | (WINDOW - 1)) + 1;
        if (end > to)
            end = to;
        if (window_seen[from >> 26 & ((1 << 22) - 1)]) {
            bytes += end - from;
            REQUIRE(mincore((void *)from, end - from, pages) == 0, "mincore: %s", strerror(errno));
            for (size_t i = 0; i < (end - from) / page; i++)
                *resident += pages[i] & 1 ? page : 0;
        }
        from = end;
    }
    return bytes;
}

// The accessible mappings in those windows, and the break's. One that begins or ends outside of a window,
// because the kernel has joined it with its neighbour, is looked at page by page.
static struct kernel kernel_says(void) {
    static char text[4 << 20];
    struct kernel k = {0};
    size_t len = 0;
    ssize_t n;
    int fd = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0, "cannot open /proc/self/smaps: mount /proc");
    while ((n = read(fd, text + len, sizeof text - 1 - len)) > 0)
        len += (size_t)n;
    close(fd);
    REQUIRE(len < sizeof text - 1, "too many mappings for this test");
    text[len] = 0;
    bool ours = false;
    for (char *line = text; *line;) {
        char *end = strchr(line, '\n');
        if (!end)
            break;
        *end = 0;
        char *dash = strchr(line, '-'), *space = strchr(line, ' ');
        if (dash && space && dash < space) { // the head of a mapping
            uintptr_t from = strtoul(line, NULL, 16), to = strtoul(dash + 1, NULL, 16);
            size_t resident = 0, inside = 0;
            bool heap = strstr(line, "[heap]"), accessible = strncmp(space, " rw", 3) == 0;
            if (accessible && !heap)
                inside = in_windows(from, to, &resident);
            ours = heap || inside == to - from;
            k.accessible += heap ? to - from : inside;
            if (!ours) {
                k.rss += resident;
                k.dirty += resident;
            }
        } else if (ours && strncmp(line, "Rss:", 4) == 0) {
            k.rss += strtoul(line + 4, NULL, 10) * 1024;
        } else if (ours && strncmp(line, "Private_Dirty:", 14) == 0) {
            k.dirty += strtoul(line + 14, NULL, 10) * 1024;
        }
        line = end + 1;
    }
    return k;
}

static bool near(size_t a, size_t b, size_t distance) {
    return (a > b ? a - b : b - a) <= distance;
}

// While nobody else is at work.
static void compare(size_t base_live, const char *when) {
    struct rung_stats s;
    stats_of(&s);
    struct kernel k = kernel_says();
    struct mallinfo2 m = mallinfo2();
    size_t cached = s.cached_threads + s.cached_depot + s.cached_inboxes;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t room = 2 * page * (s.arenas + s.heaps + s.windows);
    say("%s: live %zu cached %zu pinned %zu free %zu + %zu absent %zu heads %zu own %zu, accessible %zu, resident %zu",
        when, s.live, cached, s.pinned, s.free_resident, s.free_purged, s.absent, s.metadata_heads, s.metadata_own,
        s.accessible, s.resident);
    CHECK(s.live - base_live == held_bytes(), "%s: %zu bytes live, the program holds %zu", when, s.live - base_live,
          held_bytes());
    CHECK(s.accessible == s.live + cached + s.pinned + s.free_resident + s.free_purged + s.metadata_heads +
                              s.metadata_own + s.metadata_untouched,
          "%s: the parts are not the whole", when);
    CHECK(s.resident == s.accessible - s.free_purged - s.metadata_untouched - s.absent,
          "%s: the parts are not what is resident", when);
    CHECK(s.kernel_asked == 1, "%s: the kernel did not answer", when);
    CHECK(near(s.accessible - s.metadata_own, k.accessible, room), "%s: %zu accessible, the kernel says %zu", when,
          s.accessible - s.metadata_own, k.accessible);
    CHECK(near(s.resident - s.metadata_own, k.rss, room), "%s: %zu resident, the kernel says %zu", when,
          s.resident - s.metadata_own, k.rss);
    CHECK(near(s.resident - s.metadata_own, k.dirty, room), "%s: %zu resident, of which %zu are private and dirty",
          when, s.resident - s.metadata_own, k.dirty);
    // glibc counts an arena's head, fenceposts and the room in front of its first chunk as in use.
    size_t overhead = m.uordblks - (s.live + cached);
    CHECK(overhead <= 4096 * (s.arenas + s.heaps), "%s: mallinfo2 says %zu in use, live and cached are %zu", when,
          m.uordblks, s.live + cached);
    // Nor does it know of what lies accessible behind a sub-heap's end.
    size_t all_free = s.pinned + s.free_resident + s.free_purged;
    CHECK(s.heaps == 0 ? m.fordblks == all_free : m.fordblks <= all_free,
          "%s: mallinfo2 says %zu free, the account %zu", when, m.fordblks, all_free);
    CHECK(m.arena == m.uordblks + m.fordblks, "%s: mallinfo2 does not add up", when);
    CHECK(m.hblkhd == s.mapped && m.hblks == s.mapped_chunks, "%s: mapped %zu in %zu, mallinfo2 says %zu in %zu",
          when, s.mapped, s.mapped_chunks, m.hblkhd, m.hblks);
}

// ---- the others

static pthread_barrier_t go, done;
static _Atomic unsigned keep_now;
static _Atomic bool over;

static void *worker(void *seed) {
    for (;;) {
        pthread_barrier_wait(&go);
        if (over)
            return NULL;
        for (int i = 0; i < STEPS; i++)
            step(seed, keep_now);
        pthread_barrier_wait(&done);
    }
}

static void round_of_work(unsigned keep) {
    keep_now = keep;
    pthread_barrier_wait(&go);
    pthread_barrier_wait(&done);
}

int main(int argc, char **argv) {
    require_rung();
    void *f = dlsym(RTLD_DEFAULT, "rung_stats"), *g = dlsym(RTLD_DEFAULT, "rung_option");
    REQUIRE(f && g, "no rung_stats in this library");
    memcpy(&stats_of, &f, sizeof f);
    memcpy(&option_of, &g, sizeof g);
    runs = option_of("runs") != 0;
    unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    REQUIRE(threads <= THREADS_MAX, "too many threads");
    uint64_t seed = seed_from_environment(20261130);
    struct rung_stats base;
    free(malloc(1));
    for (size_t i = 0; i < SLOTS; i++)
        pthread_mutex_init(&slots[i].lock, NULL);
    pthread_t t[THREADS_MAX];
    uint64_t seeds[THREADS_MAX];
    pthread_barrier_init(&go, NULL, threads + 1);
    pthread_barrier_init(&done, NULL, threads + 1);
    for (unsigned i = 0; i < threads; i++) {
        seeds[i] = seed + i + 1;
        REQUIRE(pthread_create(&t[i], NULL, worker, &seeds[i]) == 0, "no thread");
    }
    if (threads > 0)
        round_of_work(0); // each has its cache now
    stats_of(&base);
    for (int i = 0; i < ROUNDS; i++) {
        unsigned keep = i % 2 == 0 ? 3 : 1;
        for (int j = 0; j < STEPS && threads == 0; j++)
            step(&seed, keep);
        if (threads > 0)
            round_of_work(keep);
        compare(base.live, i % 2 == 0 ? "much" : "little");
    }
    malloc_trim(0);
    compare(base.live, "trimmed");
    void *large = malloc(opaque(40 << 20));
    compare(base.live, "with a mapped chunk");
    free(large);
    for (size_t i = 0; i < SLOTS; i++) {
        free(slots[i].mem);
        slots[i].mem = NULL;
    }
    compare(base.live, "nothing");
    malloc_trim(0);
    compare(base.live, "nothing, trimmed");
    check_heap("at the end");
    over = true;
    if (threads > 0)
        pthread_barrier_wait(&go);
    for (unsigned i = 0; i < threads; i++)
        pthread_join(t[i], NULL);
    return check_result();
}
