/* Where the files are that belong to this program. */
#ifndef RUNG_CLI_WHERE_H
#define RUNG_CLI_WHERE_H

/* The directory this program lies in, all links resolved.  Allocated; NULL with errno set. */
char *program_directory(void);

/* DIRECTORY/NAME with all links resolved, if there is such a file.  Allocated; NULL if not. */
char *file_in(const char *directory, const char *name);

#endif
