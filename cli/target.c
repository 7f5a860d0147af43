#include "target.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "elf.h"

bool target_read(const struct target *t, const void *from, void *to, size_t len) {
    struct iovec here = {.iov_base = to, .iov_len = len};
    struct iovec there = {.iov_base = (void *)(uintptr_t)from, .iov_len = len};
    return process_vm_readv(t->pid, &here, 1, &there, 1, 0) == (ssize_t)len;
}

size_t target_bytes(const struct target *t) {
    char path[40];
    size_t pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", t->pid);
    FILE *f = fopen(path, "re");
    if (f == NULL || fscanf(f, "%zu", &pages) != 1)
        pages = 0;
    if (f != NULL)
        fclose(f);
    return pages * os_page_map_unit() + 1;
}

bool target_has_ended(const struct target *t) {
    return target_bytes(t) == 1;
}

/* The one line of a file about one thread; "" when there is none. */
static void ask_thread(const struct target *t, const char *thread, const char *file, char *line, int room) {
    char path[320];
    snprintf(path, sizeof path, "/proc/%d/task/%s/%s", t->pid, thread, file);
    FILE *f = fopen(path, "re");
    if (f == NULL || fgets(line, room, f) == NULL)
        line[0] = '\0';
    if (f != NULL)
        fclose(f);
}

uint64_t target_ran(const struct target *t, bool *running) {
    char path[40];
    uint64_t ns = 0;
    *running = false;
    snprintf(path, sizeof path, "/proc/%d/task", t->pid);
    DIR *tasks = opendir(path);
    for (struct dirent *e; tasks != NULL && (e = readdir(tasks)) != NULL;) {
        if (e->d_name[0] == '.')
            continue;
        char line[512];
        ask_thread(t, e->d_name, "schedstat", line, sizeof line);
        ns += strtoull(line, NULL, 10);
        ask_thread(t, e->d_name, "stat", line, sizeof line);
        const char *name_ends = strrchr(line, ')');
        *running |= name_ends != NULL && strncmp(name_ends, ") R", 3) == 0;
    }
    if (tasks != NULL)
        closedir(tasks);
    return ns;
}

/* ---- what cannot be done, and what to do instead ---- */

static bool complain_of_access(const struct command *from, const struct target *t) {
    complain(from,
             "process %d may not be looked into from here: run this as the user it runs as, or as root (it takes "
             "what a debugger takes: CAP_SYS_PTRACE, or kernel.yama.ptrace_scope = 0)",
             t->pid);
    return false;
}

static bool complain_of_no_rung(const struct command *from, const struct target *t) {
    complain(from, "process %d (%s) does not run on Rung; `rung run COMMAND` starts a program that does", t->pid,
             t->command);
    return false;
}

static bool complain_of_file(const struct command *from, const struct target *t) {
    complain(from,
             "the %s that process %d was started with has been replaced or removed, and its symbols are needed: "
             "put it back, or start the process again",
             t->library, t->pid);
    return false;
}

static bool complain_of_version(const struct command *from, const struct target *t) {
    complain(from,
             "process %d runs Rung %.15s from %s, and this is rung " RUNG_VERSION "%s: use the `rung` that was "
             "built with that library",
             t->pid, t->view.version, t->library,
             strncmp(t->view.version, RUNG_VERSION, sizeof t->view.version) == 0 ? " from other sources" : "");
    return false;
}

/* ---- finding it ---- */

static void read_command(struct target *t) {
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/comm", t->pid);
    FILE *f = fopen(path, "re");
    if (f == NULL || fgets(t->command, sizeof t->command, f) == NULL)
        strcpy(t->command, "?");
    t->command[strcspn(t->command, "\n")] = '\0';
    if (f != NULL)
        fclose(f);
}

/* A line of /proc/PID/maps with the start of a file. */
struct mapping {
    uintptr_t start;
    ino_t inode;
    char *path;
    bool deleted;
};

static bool parse_mapping(char *line, struct mapping *m) {
    uint64_t start, end, offset, inode;
    int path_at = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %" SCNu64 " %n", &start, &end, &offset, &inode,
               &path_at) < 4 ||
        path_at == 0 || offset != 0 || inode == 0 || line[path_at] != '/')
        return false;
    static const char gone[] = " (deleted)";
    m->path = line + path_at;
    m->path[strcspn(m->path, "\n")] = '\0';
    size_t len = strlen(m->path);
    m->deleted = len > sizeof gone - 1 && strcmp(m->path + len - (sizeof gone - 1), gone) == 0;
    if (m->deleted)
        m->path[len - (sizeof gone - 1)] = '\0';
    m->start = start;
    m->inode = (ino_t)inode;
    return true;
}

/* As the process sees the file, which may live in a container; its inode tells whether that is the one.  Some
   file systems give mappings other numbers, so the name alone has to do in the end. */
static enum elf_answer find_symbol(const struct target *t, const struct mapping *m, struct elf_symbol *found) {
    char path[PATH_MAX + 40];
    snprintf(path, sizeof path, "/proc/%d/root%s", t->pid, m->path);
    enum elf_answer answer = elf_find(path, m->inode, VIEW_NAME, found);
    if (answer == ELF_UNREADABLE)
        answer = elf_find(m->path, m->inode, VIEW_NAME, found);
    return m->deleted && answer != ELF_FOUND ? ELF_REPLACED : answer;
}

static bool is_librung(const char *path) {
    const char *name = strrchr(path, '/') + 1;
    return strncmp(name, "librung", 7) == 0;
}

enum found { FOUND, FOUND_NO_FILE, FOUND_NOTHING, FOUND_EMPTY };

/* Where its view lies: in the first file that has one. */
static enum found find_view(struct target *t, FILE *maps, uintptr_t *at) {
    char *line = NULL;
    size_t room = 0;
    enum found result = FOUND_EMPTY;
    while (result != FOUND && getline(&line, &room, maps) > 0) {
        if (result == FOUND_EMPTY)
            result = FOUND_NOTHING;
        struct mapping m;
        struct elf_symbol s;
        if (!parse_mapping(line, &m) || strlen(m.path) >= sizeof t->library)
            continue;
        enum elf_answer answer = find_symbol(t, &m, &s);
        if (answer != ELF_FOUND && !is_librung(m.path))
            continue;
        strcpy(t->library, m.path);
        result = FOUND_NO_FILE;
        if (answer == ELF_FOUND) {
            *at = s.fixed ? s.value : m.start - s.first + s.value;
            result = FOUND;
        }
    }
    free(line);
    return result;
}

static bool understood(const struct rung_view *v) {
    static const uint32_t layout[VIEW_LAYOUT] = VIEW_LAYOUT_NUMBERS;
    return strncmp(v->version, RUNG_VERSION, sizeof v->version) == 0 && v->view_bytes == sizeof *v &&
           memcmp(v->layout, layout, sizeof layout) == 0;
}

bool target_open(const struct command *from, struct target *t, int pid) {
    char path[40];
    uintptr_t at = 0;
    t->pid = pid;
    read_command(t);
    if (kill(pid, 0) != 0 && errno == ESRCH) {
        complain(from, "there is no process %d; `ps` lists those there are", pid);
        return false;
    }
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "re");
    if (maps == NULL)
        return complain_of_access(from, t);
    errno = 0;
    enum found found = find_view(t, maps, &at);
    bool denied = ferror(maps) && (errno == EACCES || errno == EPERM);
    fclose(maps);
    if (denied)
        return complain_of_access(from, t);
    if (found == FOUND_EMPTY) {
        complain(from, "process %d (%s) has no memory to look at: it has ended, or is the kernel's own", pid,
                 t->command);
        return false;
    }
    if (found == FOUND_NOTHING)
        return complain_of_no_rung(from, t);
    if (found == FOUND_NO_FILE)
        return complain_of_file(from, t);
    /* The front first: another version's view may be shorter. */
    errno = 0;
    if (!target_read(t, (void *)at, &t->view, offsetof(struct rung_view, layout)))
        return errno == EPERM ? complain_of_access(from, t) : complain_of_file(from, t);
    if (memcmp(t->view.magic, VIEW_MAGIC, strlen("rung view ")) != 0)
        return complain_of_file(from, t);
    if (memcmp(t->view.magic, VIEW_MAGIC, sizeof VIEW_MAGIC) != 0 || t->view.view_bytes != sizeof t->view || !target_read(t, (void *)at, &t->view, sizeof t->view) ||
        !understood(&t->view))
        return complain_of_version(from, t);
    return true;
}
