// What tests/api/deepbind.c opens: it frees for the program, says whose free it sees, and opens a library that only
// its own RUNPATH leads to.
#include <dlfcn.h>
#include <stdlib.h>

void release(void *mem);
void *whose_free(void);
void *open_beside(const char *name, int mode);

void release(void *mem) {
    free(mem);
}

void *whose_free(void) {
    return (void *)free;
}

void *open_beside(const char *name, int mode) {
    void *library = dlopen(name, mode);
    return library; // not a tail call: this library has to stay the caller
}
