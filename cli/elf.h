/* Where a symbol lies, by the file that a program was loaded from. */
#ifndef RUNG_CLI_ELF_H
#define RUNG_CLI_ELF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct elf_symbol {
    uint64_t value; /* as the file has it */
    uint64_t first; /* where the file's first segment wants to lie; a page's start */
    bool fixed;     /* it lies there, always: not position-independent */
};

enum elf_answer { ELF_FOUND, ELF_NOT_FOUND, ELF_UNREADABLE, ELF_REPLACED };

/* Looks in the dynamic symbols, then in the others.  REPLACED: the file is not `inode`, if that is not 0.
   UNREADABLE: it cannot be opened. */
enum elf_answer elf_find(const char *path, ino_t inode, const char *symbol, struct elf_symbol *found);

#endif
