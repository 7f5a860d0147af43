// grow [SCALE]
//
// Stands for vectors and string builders: arrays of very different lengths are appended to in turn and grow with
// realloc by half each time they are full; the longest reach tens of MiB. A few strings grow by 8 bytes a time.
#include "work.h"

enum { VECTORS = 200, STRINGS = 8, ROUNDS = 25, LONGEST = 1200000 };

struct vector {
    uint64_t *items;
    size_t count, room;
};

static void append(struct vector *vector, uint64_t item) {
    if (vector->count == vector->room) {
        vector->room = vector->room ? vector->room + vector->room / 2 : 4;
        vector->items = need(realloc(vector->items, vector->room * sizeof item));
    }
    vector->items[vector->count++] = item;
}

static uint64_t vectors(uint64_t *state) {
    struct vector all[VECTORS] = {0};
    uint64_t sum = 0;
    // The k-th vector ends with 1/k of the longest one's length; they grow a stretch each in turn.
    for (size_t stretch = 0; stretch < 100; stretch++) {
        for (size_t k = 0; k < VECTORS; k++) {
            for (size_t i = 0; i < LONGEST / 100 / (k + 1) + 1; i++) {
                append(&all[k], rnd(state));
            }
        }
    }
    for (size_t k = 0; k < VECTORS; k++) {
        sum = sum * 31 + all[k].items[all[k].count / 2];
        free(all[k].items);
    }
    return sum;
}

static uint64_t strings(uint64_t *state) {
    char *text[STRINGS] = {NULL};
    uint64_t sum = 0;
    for (size_t length = 0; length < 200000; length += sizeof sum) {
        for (size_t k = 0; k < STRINGS; k++) {
            uint64_t piece = rnd(state);
            text[k] = need(realloc(text[k], length + sizeof piece));
            memcpy(text[k] + length, &piece, sizeof piece);
        }
    }
    for (size_t k = 0; k < STRINGS; k++) {
        uint64_t piece;
        memcpy(&piece, text[k] + 8000, sizeof piece);
        sum = sum * 31 + piece;
        free(text[k]);
    }
    return sum;
}

int main(int argc, char **argv) {
    size_t rounds = scaled(ROUNDS, argc, argv, 1);
    uint64_t state = 1, sum = 0;
    for (size_t round = 0; round < rounds; round++) {
        sum = sum * 31 + vectors(&state);
        sum = sum * 31 + strings(&state);
    }
    return finish(sum);
}
