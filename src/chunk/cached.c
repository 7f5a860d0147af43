#include "chunk/cached.h"

#include "os/os.h"

uintptr_t cached_key;

/* Row B3.  A key that also turns up in users' data would make innocent frees look suspicious: it
   must be no small or nearly-negative number, and neither mostly zeros nor mostly ones. */
static bool is_good_key(uintptr_t key) {
    int ones = __builtin_popcountl(key);
    return key > 0x1000000 && key < UINTPTR_MAX - 0x1000000 && ones >= 16 && ones <= 48;
}

void cached_key_init(void) {
    uintptr_t key = 0;
    if (!os_random(&key, sizeof key))
        key = 0;
    /* Without entropy, or for a bad draw: stir in where the loader put us and what time it is. */
    uintptr_t stir =
        (uintptr_t)&cached_key ^ os_clock_us() << 20 ^ (uintptr_t)__builtin_frame_address(0);
    while (!is_good_key(key)) {
        stir = stir * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX generator */
        key ^= stir ^ stir >> 29;
    }
    cached_key = key;
}
