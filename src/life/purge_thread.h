/* The purge thread (option purge_thread): gives back what age allows while nobody calls the library.
 *
 * Nobody who has not asked for it gets it: it makes the process one with threads, which makes unshare and
 * setns fail and calls a little slower.  It is started by the first allocation that finds it wanting
 * (DUE_PURGE_THREAD) and in a position to, never by a constructor.  It blocks all signals that a program can send, takes
 * the library's locks as any thread does, and calls nothing of libc.  While there is nothing to give back
 * it sleeps and does not wake up.  It is joined by whoever ends it, and needs not be ended when the process
 * exits.  After a fork the child has none, and starts its own when it wants one. */
#ifndef RUNG_LIFE_PURGE_THREAD_H
#define RUNG_LIFE_PURGE_THREAD_H

#include <stdbool.h>

/* At the library's start. */
void purge_thread_init(void);

/* True: there is one now.  No lock held; may call malloc.  False inside of fork, in a child that shares its
   parent's memory (vfork), at the end of a thread, or when libc says no; after that it is not tried again
   until purge_thread_allow(). */
bool purge_thread_start(void);

/* The program asks for one: forgets that libc has said no. */
void purge_thread_allow(void);

/* Ends it and waits until it is gone.  No lock held. */
void purge_thread_stop(void);

/* In the child of a fork. */
void purge_thread_fork_child(void);

#endif
