/* Threads come and go (rows B2, B7, C4). */
#ifndef RUNG_LIFE_THREAD_H
#define RUNG_LIFE_THREAD_H

#include <stdbool.h>

#include "guard/lock.h"

/* Asks libc to tell us of thread exits and forks; once, whoever calls first. */
void thread_hooks_init(void);

/* Off the hot path, before a thread gets a cache or an arena: makes sure that its exit will be
   noticed.  May call malloc (again from the start). */
void thread_begin(void);

/* The same, and the thread gets its cache.  What a fork under way refuses is tried again when the thread comes past
   the next time: until then its cache stays the inactive one. */
void thread_settle(void);

/* ---- for life/fork.c ---- */

extern struct lock records_lock;

/* Who is known, by address; guarded by records_lock. */
enum { RECORD_BUCKETS = 256 };
extern struct thread_record *thread_records[RECORD_BUCKETS];

/* In the child: only the calling thread exists. */
void threads_forget_others(void);

#endif
