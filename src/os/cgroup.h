/* How many CPUs' worth of time, and how much memory, the control groups of this process grant it.
 *
 * The text of a few files is all that is needed, so whoever reads them is handed in: this is the same
 * for the kernel's files and for a test's. */
#ifndef RUNG_OS_CGROUP_H
#define RUNG_OS_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

/* Reads up to cap - 1 bytes of a file into buf and terminates them; 0: it cannot be read. */
typedef size_t file_reader(const char *path, char *buf, size_t cap);

/* The smallest quota from the process's own group up to the root of the mount, in whole CPUs, rounded up;
   0: there is none, or none that can be read. */
unsigned cgroup_cpus(file_reader *read_file);

/* The smallest memory.high on the same way, in bytes; version 2 has it, 1 has not.  0: there is none, or none
   that can be read. */
size_t cgroup_memory_high(file_reader *read_file);

/* ---- the pieces ---- */

/* The path of the process's group in the hierarchy of this controller, "" for version 2's, from the text of
   /proc/self/cgroup.  False: it has none, or one that cannot be below the mount. */
bool cgroup_path(const char *text, const char *controller, char *path, size_t cap);

/* What cpu.max (version 2), or the two files of version 1, say, in whole CPUs; 0: no limit, or no sense. */
unsigned cgroup_cpu_max(const char *text);
size_t cgroup_bytes(const char *text); /* what memory.high says; 0 likewise */
unsigned cgroup_cfs_quota(const char *quota, const char *period);

#endif
