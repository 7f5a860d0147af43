// Row E1, C++: every replaceable form of operator new and delete is the library's own, calls the
// new-handler until it gives up, throws bad_alloc, and the nothrow forms return a null pointer
// whatever the handler does, throwing included.
#include "check.h"
#include <malloc.h>
#include <new>
#include <sys/resource.h>

// Too big for any address space, yet below PTRDIFF_MAX, so that the refusal comes from the system
// and not from a range check.
static const std::size_t impossible = std::size_t(1) << 62;
static const std::align_val_t page_aligned = std::align_val_t(4096);
static const std::align_val_t twice_default =
    std::align_val_t(2 * __STDCPP_DEFAULT_NEW_ALIGNMENT__);

static int handler_calls;

static void handler_that_gives_up() {
    if (++handler_calls == 3)
        std::set_new_handler(nullptr);
}

struct out_of_patience {};

static void handler_that_throws() {
    ++handler_calls;
    throw out_of_patience();
}

static void handler_that_throws_bad_alloc() {
    ++handler_calls;
    throw std::bad_alloc();
}

typedef void *(*new_form)(std::size_t);
typedef void (*delete_form)(void *, std::size_t);

// Forms under one signature; the size is ignored by the deletes that take none.
static void *plain(std::size_t n) {
    return ::operator new(n);
}
static void *array(std::size_t n) {
    return ::operator new[](n);
}
static void *plain_aligned(std::size_t n) {
    return ::operator new(n, page_aligned);
}
static void *array_aligned(std::size_t n) {
    return ::operator new[](n, twice_default);
}
static void *quiet(std::size_t n) {
    return ::operator new(n, std::nothrow);
}
static void *quiet_array(std::size_t n) {
    return ::operator new[](n, std::nothrow);
}
static void *quiet_aligned(std::size_t n) {
    return ::operator new(n, page_aligned, std::nothrow);
}
static void *quiet_array_aligned(std::size_t n) {
    return ::operator new[](n, twice_default, std::nothrow);
}

static void del(void *p, std::size_t) {
    ::operator delete(p);
}
static void del_array(void *p, std::size_t) {
    ::operator delete[](p);
}
static void del_sized(void *p, std::size_t n) {
    ::operator delete(p, n);
}
static void del_array_sized(void *p, std::size_t n) {
    ::operator delete[](p, n);
}
static void del_nothrow(void *p, std::size_t) {
    ::operator delete(p, std::nothrow);
}
static void del_array_nothrow(void *p, std::size_t) {
    ::operator delete[](p, std::nothrow);
}
static void del_aligned(void *p, std::size_t) {
    ::operator delete(p, page_aligned);
}
static void del_array_aligned(void *p, std::size_t) {
    ::operator delete[](p, twice_default);
}
static void del_sized_aligned(void *p, std::size_t n) {
    ::operator delete(p, n, page_aligned);
}
static void del_array_sized_aligned(void *p, std::size_t n) {
    ::operator delete[](p, n, twice_default);
}
static void del_aligned_nothrow(void *p, std::size_t) {
    ::operator delete(p, page_aligned, std::nothrow);
}
static void del_array_aligned_nothrow(void *p, std::size_t) {
    ::operator delete[](p, twice_default, std::nothrow);
}

struct form {
    const char *name;
    const char *symbol;
    new_form allocate;
    std::size_t alignment;
    bool nothrow;
    delete_form deletes[6];
};

static const form forms[] = {
    {"new", "_Znwm", plain, 16, false, {del, del_sized, del_nothrow}},
    {"new[]", "_Znam", array, 16, false, {del_array, del_array_sized, del_array_nothrow}},
    {"new aligned",
     "_ZnwmSt11align_val_t",
     plain_aligned,
     4096,
     false,
     {del_aligned, del_sized_aligned, del_aligned_nothrow}},
    {"new[] aligned",
     "_ZnamSt11align_val_t",
     array_aligned,
     32,
     false,
     {del_array_aligned, del_array_sized_aligned, del_array_aligned_nothrow}},
    {"new nothrow", "_ZnwmRKSt9nothrow_t", quiet, 16, true, {del, del_sized, del_nothrow}},
    {"new[] nothrow",
     "_ZnamRKSt9nothrow_t",
     quiet_array,
     16,
     true,
     {del_array, del_array_sized, del_array_nothrow}},
    {"new aligned nothrow",
     "_ZnwmSt11align_val_tRKSt9nothrow_t",
     quiet_aligned,
     4096,
     true,
     {del_aligned, del_sized_aligned, del_aligned_nothrow}},
    {"new[] aligned nothrow",
     "_ZnamSt11align_val_tRKSt9nothrow_t",
     quiet_array_aligned,
     32,
     true,
     {del_array_aligned, del_array_sized_aligned, del_array_aligned_nothrow}},
};

static const char *const delete_symbols[] = {"_ZdlPv",
                                             "_ZdaPv",
                                             "_ZdlPvm",
                                             "_ZdaPvm",
                                             "_ZdlPvRKSt9nothrow_t",
                                             "_ZdaPvRKSt9nothrow_t",
                                             "_ZdlPvSt11align_val_t",
                                             "_ZdaPvSt11align_val_t",
                                             "_ZdlPvmSt11align_val_t",
                                             "_ZdaPvmSt11align_val_t",
                                             "_ZdlPvSt11align_val_tRKSt9nothrow_t",
                                             "_ZdaPvSt11align_val_tRKSt9nothrow_t"};

static void test_success(const form &f) {
    for (std::size_t size = 0; size < 300000; size = size * 3 + 1)
        for (delete_form d : f.deletes) {
            if (!d)
                continue;
            void *p = launder(f.allocate(size));
            CHECK(p, "%s(%zu) is null", f.name, size);
            CHECK(reinterpret_cast<uintptr_t>(p) % f.alignment == 0, "%s(%zu): %p", f.name, size,
                  p);
            CHECK(malloc_usable_size(p) >= size, "%s(%zu) is too short", f.name, size);
            memset(p, 0x33, size);
            d(p, size);
            d(nullptr, size);
        }
    void *a = launder(f.allocate(0)), *b = launder(f.allocate(0));
    CHECK(a && b && a != b, "%s(0) gave %p and %p", f.name, a, b);
    f.deletes[0](a, 0);
    f.deletes[0](b, 0);
}

// What a failing form does: a null pointer, or the kind of exception.
enum ending_kind { RETURNED_NULL, THREW_BAD_ALLOC, THREW_OTHER, RETURNED_MEMORY };

static ending_kind fail_with(const form &f, std::new_handler handler, std::size_t size) {
    handler_calls = 0;
    std::set_new_handler(handler);
    ending_kind how;
    try {
        how = f.allocate(size) ? RETURNED_MEMORY : RETURNED_NULL;
    } catch (const std::bad_alloc &) {
        how = THREW_BAD_ALLOC;
    } catch (...) {
        how = THREW_OTHER;
    }
    std::set_new_handler(nullptr);
    return how;
}

static void test_failure(const form &f, std::size_t size) {
    ending_kind refusal = f.nothrow ? RETURNED_NULL : THREW_BAD_ALLOC;
    ending_kind how = fail_with(f, nullptr, size);
    CHECK(how == refusal, "%s(%#zx) without handler: ended %d", f.name, size, how);
    how = fail_with(f, handler_that_gives_up, size);
    CHECK(how == refusal, "%s with a handler that gives up: ended %d", f.name, how);
    CHECK(handler_calls == 3, "%s called the handler %d times, not 3", f.name, handler_calls);
    how = fail_with(f, handler_that_throws_bad_alloc, size);
    CHECK(how == refusal && handler_calls == 1,
          "%s, handler throws bad_alloc: ended %d after %d calls", f.name, how, handler_calls);
    how = fail_with(f, handler_that_throws, size);
    CHECK(how == (f.nothrow ? RETURNED_NULL : THREW_OTHER) && handler_calls == 1,
          "%s, handler throws something else: ended %d after %d calls", f.name, how, handler_calls);
}

// A handler that gives memory back makes the next attempt succeed. The address space is limited so
// that `wanted` fits only once `reserve` is gone.
static const std::size_t reserve_size = std::size_t(256) << 20, wanted = std::size_t(200) << 20;
static void *reserve;

static void handler_that_gives_memory_back() {
    ++handler_calls;
    std::free(reserve);
    reserve = nullptr;
}

static void test_retry(const form &f) {
    malloc_trim(0); // what another form freed shall not serve this one
    reserve = std::malloc(reserve_size);
    struct rlimit before;
    REQUIRE(reserve && getrlimit(RLIMIT_AS, &before) == 0, "no 256 MiB of address space: errno %d",
            errno);
    struct rlimit tight = before;
    tight.rlim_cur = (static_cast<rlim_t>(status_kib("VmSize")) << 10) + (rlim_t(50) << 20);
    setrlimit(RLIMIT_AS, &tight);
    handler_calls = 0;
    std::set_new_handler(handler_that_gives_memory_back);
    void *p = nullptr;
    try {
        p = f.allocate(wanted);
    } catch (...) {
    }
    std::set_new_handler(nullptr);
    setrlimit(RLIMIT_AS, &before);
    CHECK(p, "%s failed although the handler freed %zu MiB", f.name, reserve_size >> 20);
    CHECK(handler_calls == 1, "%s called the handler %d times, not once", f.name, handler_calls);
    f.deletes[0](p, wanted);
    std::free(reserve);
}

int main() {
    require_rung();
    for (const form &f : forms) {
        if (!on_host_malloc())
            CHECK(comes_from_rung(f.symbol), "%s is not the library's own", f.symbol);
        test_success(f);
        test_failure(f, impossible);
        if (!on_host_malloc()) { // libstdc++ rounds such a size up to the alignment, and wraps to 0
            test_failure(f, std::size_t(-1));
            test_failure(f, std::size_t(-1) - 4096);
        }
        test_retry(f);
    }
    for (const char *symbol : delete_symbols)
        if (!on_host_malloc())
            CHECK(comes_from_rung(symbol), "%s is not the library's own", symbol);
    check_heap("at the end");
    return check_result();
}
