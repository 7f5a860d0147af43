/* 20,000 blocks of 4096 bytes, written: freed all at once, then all but the topmost. What stays resident. */
#include "probe.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 20000

static void *blocks[BLOCKS];

/* Resident memory a thousand blocks apart, and where in that series each phase begins. */
#define SAMPLE_EVERY 1000
static long samples[512], phases[16];
static size_t sample_count, phase_count;

static void sample(int i) {
    if (i % SAMPLE_EVERY == 0 && sample_count < sizeof samples / sizeof samples[0])
        samples[sample_count++] = memory_now().resident_kib;
}

static void phase(void) {
    phases[phase_count++] = (long)sample_count;
    sample(0);
}

static void fill(void) {
    phase();
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(4096);
        if (blocks[i] == NULL)
            fail("malloc returned NULL");
        memset(blocks[i], 1, 4096);
        sample(i + 1);
    }
}

static void free_first(int count) {
    phase();
    for (int i = 0; i < count; i++) {
        free(blocks[i]);
        sample(i + 1);
    }
    sample(0);
}

static int trim(void) {
    phase();
    int result = malloc_trim(0);
    sample(0);
    return result;
}

int main(void) {
    no_huge_pages();
    memset(blocks, 1,
           sizeof blocks); /* the table itself is resident before the first measurement */
    memset(samples, 1, sizeof samples);
    say_memory("start");
    fill();
    say_memory("filled");
    free_first(BLOCKS);
    say_memory("freed_all");
    say("trim_after_all=%d", trim());
    say_memory("trimmed_all");

    fill();
    say_memory("refilled");
    free_first(BLOCKS - 1);
    say_memory("freed_but_top");
    say("trim_with_top=%d", trim());
    say_memory("trimmed_but_top");
    free(blocks[BLOCKS - 1]);
    say("trim_last=%d", malloc_trim(0));
    say_memory("trimmed_last");
    say_list("samples", samples, sample_count);
    say_list("phases", phases, phase_count);
    return 0;
}
