/* A freed object that a cache, the depot or a run keeps: how such objects are linked.
 *
 *   mem -> +---------------------+
 *          | next, masked        |   the following object's address XOR (this word's address >> 12)
 *          | key                 |   a random word, the same in the whole process
 *          +---------------------+
 *
 * The mask makes an overwritten freed object lead nowhere in particular; a decoded pointer that is
 * not aligned ends the process (safe-linking, described in the Check Point paper of 2020).  The key
 * gives away a second free: it is there from the first free until the object is handed out again. */
#ifndef RUNG_CHUNK_CACHED_H
#define RUNG_CHUNK_CACHED_H

#include <stdint.h>

#include "base/bits.h"

struct cached {
    uintptr_t masked_next;
    uintptr_t key;
};

extern uintptr_t cached_key HIDDEN;

/* Draws the key; once, at start-up. */
void cached_key_init(void);

static HOT struct cached *unmask_next(const struct cached *e) {
    return (struct cached *)(e->masked_next ^ ((uintptr_t)&e->masked_next >> 12));
}

static HOT void mask_next(struct cached *e, const struct cached *next) {
    e->masked_next = (uintptr_t)next ^ ((uintptr_t)&e->masked_next >> 12);
}

#endif
