#include "elf.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file that may hold anything. */
struct file {
    const char *start;
    size_t len;
};

/* n items of `size` bytes at `offset`, or NULL: the file ends before. */
static const void *part(const struct file *f, uint64_t offset, uint64_t n, uint64_t size) {
    uint64_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || offset > f->len || bytes > f->len - offset ||
        offset % 8 != 0)
        return NULL;
    return f->start + offset;
}

static bool search(const struct file *f, const Elf64_Shdr *symbols, const Elf64_Shdr *strings,
                   const char *wanted, uint64_t *value) {
    size_t n = symbols->sh_size / sizeof(Elf64_Sym);
    const Elf64_Sym *s = part(f, symbols->sh_offset, n, sizeof *s);
    if (s == NULL || strings->sh_offset > f->len || strings->sh_size > f->len - strings->sh_offset)
        return false;
    const char *names = f->start + strings->sh_offset;
    size_t len = strlen(wanted) + 1;
    for (size_t i = 0; i < n; i++) {
        if (s[i].st_shndx == SHN_UNDEF || s[i].st_name >= strings->sh_size ||
            strings->sh_size - s[i].st_name < len || memcmp(names + s[i].st_name, wanted, len) != 0)
            continue;
        *value = s[i].st_value;
        return true;
    }
    return false;
}

static bool find_in(const struct file *f, const char *wanted, struct elf_symbol *found) {
    const Elf64_Ehdr *e = part(f, 0, 1, sizeof *e);
    if (e == NULL || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 || e->e_ident[EI_CLASS] != ELFCLASS64 ||
        e->e_phentsize != sizeof(Elf64_Phdr) || e->e_shentsize != sizeof(Elf64_Shdr))
        return false;
    const Elf64_Phdr *p = part(f, e->e_phoff, e->e_phnum, sizeof *p);
    const Elf64_Shdr *s = part(f, e->e_shoff, e->e_shnum, sizeof *s);
    if (p == NULL || s == NULL)
        return false;
    unsigned load = 0;
    while (load < e->e_phnum && p[load].p_type != PT_LOAD)
        load++;
    if (load == e->e_phnum)
        return false;
    found->first = p[load].p_vaddr & ~(uint64_t)4095;
    found->fixed = e->e_type == ET_EXEC;
    static const Elf64_Word kinds[] = {SHT_DYNSYM, SHT_SYMTAB};
    for (int kind = 0; kind < 2; kind++)
        for (unsigned i = 0; i < e->e_shnum; i++)
            if (s[i].sh_type == kinds[kind] && s[i].sh_link < e->e_shnum &&
                search(f, &s[i], &s[s[i].sh_link], wanted, &found->value))
                return true;
    return false;
}

enum elf_answer elf_find(const char *path, ino_t inode, const char *symbol, struct elf_symbol *found) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return ELF_UNREADABLE;
    enum elf_answer answer = ELF_NOT_FOUND;
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        answer = ELF_UNREADABLE;
    } else if (inode != 0 && st.st_ino != inode) {
        answer = ELF_REPLACED;
    } else if (st.st_size > 0) {
        struct file f = {.len = (size_t)st.st_size};
        void *map = mmap(NULL, f.len, PROT_READ, MAP_PRIVATE, fd, 0);
        f.start = map;
        if (map == MAP_FAILED) {
            answer = ELF_UNREADABLE;
        } else {
            answer = find_in(&f, symbol, found) ? ELF_FOUND : ELF_NOT_FOUND;
            munmap(map, f.len);
        }
    }
    close(fd);
    return answer;
}
