/* What the reporting interface says of small free chunks, once there are more of them than the cache holds. */
#include "probe.h"

#include <malloc.h>
#include <stdlib.h>

#define OBJECTS 64

int main(void) {
    void *objects[OBJECTS];
    say("mallopt_mxfast=%d", mallopt(M_MXFAST, 160));
    say("mallopt_mxfast_0=%d", mallopt(M_MXFAST, 0));
    say("mallopt_mxfast_back=%d", mallopt(M_MXFAST, 128));
    for (int i = 0; i < OBJECTS; i++)
        objects[i] = malloc(64);
    void *behind = malloc(64);
    for (int i = 0; i < OBJECTS; i++)
        free(objects[i]);
    struct mallinfo2 info = mallinfo2();
    say("smblks=%zu", info.smblks);
    say("fsmblks=%zu", info.fsmblks);
    say("ordblks=%zu", info.ordblks);
    say_malloc_info("info");
    free(behind);
    return 0;
}
