#include "guard/fatal.h"

#include "base/fmt.h"
#include "os/os.h"

const char *const message_text[MESSAGE_COUNT] = {
#define MSG(id, text, meaning) [MSG_##id] = text,
#include "guard/messages.def"
#undef MSG
};

void die(enum message which, const void *mem, size_t head) {
    char buf[256];
    struct text t = text_in(buf, sizeof buf);
    text_add(&t, "%s\n", message_text[which]);
    text_add(&t, "rung: at block %p, size word 0x%zx (size %zu%s%s%s)\n", mem, head,
             head & ~(size_t)7, (head & 1) != 0 ? ", previous in use" : "",
             (head & 2) != 0 ? ", own mapping" : "", (head & 4) != 0 ? ", secondary arena" : "");
    os_write(2, t.buf, t.len);
    os_abort();
}

void die_internal(const char *what, const char *file, int line) {
    char buf[256];
    struct text t = text_in(buf, sizeof buf);
    text_add(&t, "rung: %s:%d: assertion failed: %s\n", file, line, what);
    os_write(2, t.buf, t.len);
    os_abort();
}
