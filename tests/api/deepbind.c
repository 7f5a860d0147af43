// Row N22: a plugin opened with RTLD_DEEPBIND uses the program's malloc; libc still sees who opens a library.
//
// usage: deepbind PLUGIN LIBRARY dropped|kept
#include "check.h"
#include <dlfcn.h>

static void *open_plainly(const char *path) {
    return dlopen(path, RTLD_NOW | RTLD_DEEPBIND);
}

static void *open_in_namespace(const char *path) {
    return dlmopen(LM_ID_BASE, path, RTLD_NOW | RTLD_DEEPBIND);
}

static void *find(void *library, const char *name) {
    void *found = dlsym(library, name);
    REQUIRE(found, "no %s: %s", name, dlerror());
    return found;
}

static void test_plugin(void *plugin, const char *how, bool dropped) {
    REQUIRE(plugin, "%s: %s", how, dlerror());
    void *(*whose_free)(void) = (void *(*)(void))find(plugin, "whose_free");
    CHECK((whose_free() == (void *)free) == dropped, "%s: the plugin's free is %p, the program's %p", how, whose_free(),
          (void *)free);
    if (dropped) {
        void (*release)(void *) = (void (*)(void *))find(plugin, "release");
        for (size_t size = 1; size < 1 << 20; size *= 3)
            release(malloc(size));
    }
}

int main(int argc, char **argv) {
    require_rung();
    REQUIRE(argc == 4, "usage: deepbind PLUGIN LIBRARY dropped|kept");
    bool dropped = strcmp(argv[3], "dropped") == 0;
    void *plugin = open_plainly(argv[1]);
    test_plugin(plugin, "dlopen", dropped);
    CHECK(!dlopen(argv[2], RTLD_NOW), "the program itself finds %s", argv[2]);
    void *(*open_beside)(const char *, int) = (void *(*)(const char *, int))find(plugin, "open_beside");
    CHECK(open_beside(argv[2], RTLD_NOW), "the plugin does not find %s: %s", argv[2], dlerror());
    CHECK(!dlopen("no/such/file", RTLD_NOW) && strstr(dlerror(), "no/such/file"), "no error for a file that is not there");
    dlclose(plugin);
    test_plugin(open_in_namespace(argv[1]), "dlmopen", dropped);
    check_heap("at the end");
    return check_result();
}
