/* The clock without a system call, where the kernel offers that. */
#ifndef RUNG_OS_CLOCK_H
#define RUNG_OS_CLOCK_H

/* Looks for it; called once, at start-up.  Before that, and where there is none, the clock is a call. */
void clock_find(void);

#endif
