/* lifo [COUNT [SIZE]]: allocate COUNT objects of one size, free them in the same order, allocate them again.
 * Prints which of the old objects each new one is: what a last-in first-out cache held comes back reversed.
 * A live object behind them keeps the arena's top out of it. */
#include "probe.h"

#include <stdlib.h>

#define LIMIT 4096

int main(int argc, char **argv) {
    static void *old[LIMIT], *new[LIMIT];
    static long order[LIMIT];
    size_t count = (size_t)argument(argc, argv, 1, 40), size = (size_t)argument(argc, argv, 2, 64);
    if (count > LIMIT)
        fail("at most 4096 objects");
    for (size_t i = 0; i < count; i++)
        old[i] = malloc(size);
    void *behind = malloc(size);
    for (size_t i = 0; i < count; i++)
        free(old[i]);
    for (size_t i = 0; i < count; i++)
        new[i] = malloc(size);
    for (size_t i = 0; i < count; i++) {
        order[i] = -1;
        for (size_t j = 0; j < count; j++)
            if (new[i] == old[j])
                order[i] = (long)j;
    }
    say_list("order", order, count);
    free(behind);
    return 0;
}
