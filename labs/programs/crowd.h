/* Threads that start one after another and then wait together. */
#ifndef RUNG_LABS_CROWD_H
#define RUNG_LABS_CROWD_H

#include <stddef.h>

/* The body of a thread: `index` counts from 0. It calls crowd_ready once its first allocation is made, which lets
 * the next thread start, and crowd_meet wherever all threads and the main thread must be at the same point. */
typedef void crowd_body(size_t index);

/* Start `count` threads; returns when the last of them has called crowd_ready. Starting them in turn makes the order
 * in which they are given arenas the same in every run. */
void crowd_start(size_t count, crowd_body *body);
void crowd_ready(void);
void crowd_meet(void);
/* Wait for every thread to end, its exit handlers included. */
void crowd_join(void);

#endif
