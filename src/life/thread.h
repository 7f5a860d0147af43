/* Threads come and go (rows B2, B7, C4). */
#ifndef RUNG_LIFE_THREAD_H
#define RUNG_LIFE_THREAD_H

#include "guard/lock.h"

/* Asks libc to tell us of thread exits and forks; once, whoever calls first. */
void thread_hooks_init(void);

/* Off the hot path, before a thread gets a cache or an arena: makes sure that its exit will be
   noticed.  May call malloc (again from the start). */
void thread_begin(void);

/* ---- for life/fork.c ---- */

extern struct lock records_lock;

/* In the child: only the calling thread exists. */
void threads_forget_others(void);

#endif
