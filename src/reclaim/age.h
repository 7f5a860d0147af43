/* Free memory that nobody has wanted for purge_delay goes back to the kernel: what every thread does in
 * passing, done by one that does nothing else (life/purge_thread.h). */
#ifndef RUNG_RECLAIM_AGE_H
#define RUNG_RECLAIM_AGE_H

#include <stdint.h>

#define RECLAIM_NOTHING_LEFT UINT64_MAX

/* Gives back what is old now.  In how many microseconds there may be more; RECLAIM_NOTHING_LEFT: there will be
   none before somebody frees something (chunk/purger.h).  No lock held; one thread only. */
uint64_t reclaim_by_age(void);

#endif
