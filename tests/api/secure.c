// Row E3, FIELD 28: a process that runs with more rights than its caller (AT_SECURE) honours no
// variable: not GLIBC_TUNABLES, not the aliases, not RUNG_OPTIONS. A copy of this program is given
// to another user with the setuid bit; it is linked against the library because LD_PRELOAD is not
// honoured either. The test runs for the shared library and for the static one.
#include "child.h"
#include "probe.h"
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

static const char *const probes[] = {"first_growth", "mapped_500000", "cached_64", "fill",
                                     "arenas"};
enum { PROBES = sizeof probes / sizeof *probes };

// Every way to set each of the options the probes show, at once.
static char *const with_all[] = {
    (char[]){
        "GLIBC_TUNABLES=glibc.malloc.top_pad=0:glibc.malloc.mmap_max=0:glibc.malloc.tcache_count=3:"
        "glibc.malloc.perturb=85:glibc.malloc.arena_max=3"},
    (char[]){"MALLOC_TOP_PAD_=0"},
    (char[]){"MALLOC_MMAP_MAX_=0"},
    (char[]){"MALLOC_PERTURB_=85"},
    (char[]){"MALLOC_ARENA_MAX=1"},
    (char[]){
        "RUNG_OPTIONS=profile=glibc,top_pad=0,mmap_max=0,tcache_count=3,perturb=85,arena_max=1"},
    NULL};
// The profile stays `default`, which a process with more rights has in any case.
static char *const with_variables[] = {
    (char[]){"GLIBC_TUNABLES=glibc.malloc.mmap_max=0:glibc.malloc.tcache_count=0:"
             "glibc.malloc.perturb=85"},
    (char[]){"MALLOC_MMAP_MAX_=0"},
    (char[]){"MALLOC_PERTURB_=85"},
    NULL};
static const char *const probes_of_default[] = {"mapped_40000000", "cached_64", "fill"};
static char *const with_options_only[] = {
    (char[]){
        "RUNG_OPTIONS=profile=glibc,top_pad=0,mmap_max=0,tcache_count=3,perturb=85,arena_max=1"},
    NULL};
static char *const with_glibc[] = {(char[]){"RUNG_OPTIONS=profile=glibc"}, NULL};
static char *const with_none[] = {NULL};

static int probe(char **argv) {
    if (on_host_malloc())
        unsetenv("RUNG_TEST_HOST_MALLOC");
    char text[64];
    size_t n = (size_t)snprintf(text, sizeof text, "%d %zu\n", getauxval(AT_SECURE) != 0,
                                run_probe(argv[2]));
    return write(STDOUT_FILENO, text, n) == (ssize_t)n ? check_result() : 1;
}

static size_t see(const char *program, const char *name, char *const *env, int secure) {
    char *const argv[] = {strdupa(program), (char[]){"probe"}, strdupa(name), NULL};
    struct child_job job = {NULL, NULL, argv, env};
    struct outcome o;
    run_child(&job, &o);
    REQUIRE(exited_with(&o, 0), "%s %s: %s: %s", program, name, ending(&o), o.err);
    int is_secure;
    size_t value;
    REQUIRE(sscanf(o.out, "%d %zu", &is_secure, &value) == 2, "%s wrote \"%s\"", program, o.out);
    REQUIRE(is_secure == secure, "%s: AT_SECURE is %d", program, is_secure);
    CHECK(!secure || !o.err[0], "%s %s writes to standard error: %s", program, name, o.err);
    return value;
}

static void copy_program(const char *to) {
    int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    REQUIRE(in >= 0 && out >= 0, "cannot copy this program to %s: errno %d", to, errno);
    char buffer[1 << 16];
    ssize_t n;
    while ((n = read(in, buffer, sizeof buffer)) > 0)
        REQUIRE(write(out, buffer, (size_t)n) == n, "cannot write %s: errno %d", to, errno);
    close(in);
    close(out);
}

// A user without rights; any id that is not root's will do.
enum { NOBODY = 65534 };

static void compare(const char *plain, const char *setuid_copy) {
    for (int i = 0; i < PROBES; i++) {
        size_t normal = see(plain, probes[i], with_glibc, 0);
        CHECK(see(plain, probes[i], with_all, 0) != normal,
              "%s does not react to the variables at all", probes[i]);
        CHECK(see(plain, probes[i], with_options_only, 0) != normal,
              "%s does not react to RUNG_OPTIONS", probes[i]);
        size_t secure = see(setuid_copy, probes[i], with_none, 1);
        size_t all = see(setuid_copy, probes[i], with_all, 1);
        size_t options = see(setuid_copy, probes[i], with_options_only, 1);
        CHECK(all == secure, "%s: %zu without variables, %zu with them", probes[i], secure, all);
        CHECK(options == secure, "%s: %zu without RUNG_OPTIONS, %zu with it", probes[i], secure,
              options);
    }
    for (size_t i = 0; i < sizeof probes_of_default / sizeof *probes_of_default; i++) {
        const char *name = probes_of_default[i];
        size_t normal = see(plain, name, with_none, 0);
        CHECK(see(plain, name, with_variables, 0) != normal,
              "%s does not react to glibc's variables", name);
        size_t secure = see(setuid_copy, name, with_none, 1);
        CHECK(secure == normal, "%s: %zu for everybody, %zu with more rights", name, normal,
              secure);
        size_t variables = see(setuid_copy, name, with_variables, 1);
        CHECK(variables == secure, "%s: %zu without glibc's variables, %zu with them", name, secure,
              variables);
    }
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "probe") == 0)
        return probe(argv);
    REQUIRE(argc == 2, "usage: %s directory-for-a-setuid-copy", argv[0]);
    if (geteuid() != 0)
        SKIP("only root can give a program to another user");
    if (on_host_malloc())
        SKIP("the system's malloc does not read RUNG_OPTIONS");
    struct statvfs fs;
    REQUIRE(statvfs(argv[1], &fs) == 0, "%s: errno %d", argv[1], errno);
    if (fs.f_flag & ST_NOSUID)
        SKIP("%s is mounted nosuid", argv[1]);

    char directory[300], plain[400], setuid_copy[400];
    snprintf(directory, sizeof directory, "%s/secure.XXXXXX", argv[1]);
    REQUIRE(mkdtemp(directory), "cannot make %s: errno %d", directory, errno);
    REQUIRE(chmod(directory, 0755) == 0, "chmod: errno %d", errno);
    snprintf(plain, sizeof plain, "%s/plain", directory);
    snprintf(setuid_copy, sizeof setuid_copy, "%s/setuid", directory);
    copy_program(plain);
    copy_program(setuid_copy);
    REQUIRE(chown(setuid_copy, NOBODY, NOBODY) == 0 && chmod(setuid_copy, 06755) == 0,
            "chown, chmod: errno %d", errno);

    // The other user has to reach the program and the library.
    char *const argv_probe[] = {setuid_copy, (char[]){"probe"}, (char[]){"first_growth"}, NULL};
    struct child_job job = {NULL, NULL, argv_probe, with_none};
    struct outcome o;
    run_child(&job, &o);
    bool reachable = exited_with(&o, 0);
    if (reachable)
        compare(plain, setuid_copy);
    unlink(plain);
    unlink(setuid_copy);
    rmdir(directory);
    if (!reachable)
        SKIP("the setuid copy does not start for another user (%s): %.200s", ending(&o), o.err);
    return check_result();
}
