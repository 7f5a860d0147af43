// Destructors of C++ thread_local objects, and functions registered like them, allocate and free
// while their thread ends.
#include "growth.h"
#include <map>
#include <string>
#include <vector>

extern "C" int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
extern "C" void *__dso_handle;

struct record {
    std::string name = std::string(200, 'x');
    std::map<int, std::vector<int>> table;

    ~record() {
        for (int i = 0; i < 20; i++)
            table[i].resize(static_cast<std::size_t>(i) * 50);
        std::string copy = name + name;
        table.clear();
    }
};

static thread_local record first;
static thread_local record second;

static void registered(void *block) {
    for (std::size_t i = 1; i < 30; i++)
        std::free(std::malloc(i * 70));
    std::free(block);
}

static void *life(void *unused) {
    first.table[1].push_back(1);
    __cxa_thread_atexit_impl(registered, std::malloc(1000), &__dso_handle);
    second.table[2].push_back(2);
    return unused;
}

int main() {
    require_rung();
    run_threads(life, 200, 4);
    memory before = memory_now();
    run_threads(life, 2000, 4);
    expect_no_growth(&before, 2000, 4);
    life(nullptr); // the main thread's are destroyed at exit
    check_heap("at the end of main");
    return check_result();
}
