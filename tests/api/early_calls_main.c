// See early_calls.c, which is preloaded together with the allocator, in either order.
#include "workout.h"

int main(void) {
    void *f = dlsym(RTLD_DEFAULT, "early_blocks"), *g = dlsym(RTLD_DEFAULT, "early_size");
    REQUIRE(f && g, "early_calls is not preloaded");
    require_rung();
    void **early_blocks = f;
    size_t (*early_size)(size_t);
    memcpy(&early_size, &g, sizeof early_size);
    for (size_t i = 0; i < 100; i++) {
        workout_verify(early_blocks[i], 0, early_size(i), (unsigned char)i,
                       "block of the first constructor");
        if (i % 2 == 0) { // these are freed here, the others in the last destructor
            free(early_blocks[i]);
            early_blocks[i] = NULL;
        }
    }
    work_out(&the_allocator, 1, 20000);
    check_heap("at the end of main");
    return check_result();
}
