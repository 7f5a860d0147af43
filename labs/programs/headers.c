/* headers REQUEST...: the chunk behind each request: its size, its flags, what is usable, where the pointer lies. */
#include "probe.h"

#include <malloc.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    free(malloc(16)); /* the heap exists */
    for (int i = 1; i < argc; i++) {
        size_t request = (size_t)argument(argc, argv, i, 0);
        void *mem = malloc(request);
        size_t header = header_of(mem);
        say("request.%zu.chunk=%zu", request, header & ~HEADER_FLAGS);
        say("request.%zu.flags=%zu", request, header & HEADER_FLAGS);
        say("request.%zu.usable=%zu", request, malloc_usable_size(mem));
        say("request.%zu.past_16=%zu", request, (size_t)((uintptr_t)mem % 16));
        say("request.%zu.past_page=%zu", request, (size_t)((uintptr_t)mem % page_size()));
    }
    return 0;
}
