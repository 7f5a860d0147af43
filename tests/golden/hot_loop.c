/* A malloc and a free that hit the thread's cache, argv[1] times, of argv[2] bytes: the calls go through the PLT, as
   a program's do.  Two counts of instructions, for two numbers of rounds, give the cost of a round. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: hot_loop ROUNDS SIZE\n");
        return 2;
    }
    size_t size = strtoul(argv[2], NULL, 0);
    for (unsigned long rounds = strtoul(argv[1], NULL, 0); rounds > 0; rounds--) {
        void *p = malloc(size);
        __asm__ volatile("" : "+r"(p));
        free(p);
    }
    return 0;
}
