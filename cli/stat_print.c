#include "stat_print.h"

#include <stdio.h>
#include <stdlib.h>

#include "options/options.h"
#include "print.h"
#include "report/print.h"
#include "tunables.h"

static const char *kind_name(const struct window_view *w) {
    return w->kind == OF_SMALL ? "small" : w->kind == OF_LARGE ? "large" : "arena";
}

/* ---- for people ---- */

/* Three digits or four and a unit; the texts of a few calls are kept. */
static const char *human(size_t bytes) {
    static char texts[8][24];
    static unsigned next;
    char *text = texts[next++ % 8];
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    unsigned unit = 0;
    double n = (double)bytes;
    for (; n >= 1000 && unit < 4; unit++)
        n /= 1024;
    snprintf(text, sizeof texts[0], n < 10 && unit > 0 ? "%.2f %s" : n < 100 && unit > 0 ? "%.1f %s" : "%.0f %s", n,
             units[unit]);
    return text;
}

static size_t minus(size_t a, size_t b) {
    return a > b ? a - b : 0;
}

static void row(const char *name, size_t bytes, const char *what) {
    printf("  %-16s %10s  %s\n", name, human(bytes), what);
}

static void print_memory(const struct inspection *i) {
    const struct account *a = &i->account;
    char what[160];
    puts("\nresident, by the kernel");
    snprintf(what, sizeof what, "private and dirty %s, swapped out %s", human(i->private_dirty), human(i->swap));
    row("the process", i->rss, what);
    row("Rung", a->resident, a->kernel_asked ? "without mapped blocks and kept mappings"
                                             : "as far as Rung knows: /proc/PID/pagemap cannot be read");
    row("the rest", minus(i->rss, a->resident), "mapped blocks and kept mappings, program, libraries, stacks, other mappings");
    puts("\nwhere Rung's memory is");
    row("live", a->live, "blocks the program holds");
    snprintf(what, sizeof what, "blocks with a mapping of their own: %zu", a->mapped_chunks);
    row("mapped", a->mapped, what);
    row("kept mappings", a->mapped_kept, "freed blocks of that kind that wait for reuse, and may be resident");
    snprintf(what, sizeof what, "freed: in the caches of threads (%zu) %s, depot %s, inboxes %s", a->caches,
             human(a->cached_threads), human(a->cached_depot), human(a->cached_inboxes));
    row("cached", a->cached_threads + a->cached_depot + a->cached_inboxes, what);
    row("pinned", a->pinned, "free, but a live or cached block lies on the same page");
    snprintf(what, sizeof what, "whole pages that could go back to the kernel; in runs the library knows of %s",
             human(a->free_kept));
    row("free, resident", a->free_resident, what);
    row("free, purged", a->free_purged, "whole pages that are not resident");
    row("metadata", a->metadata_heads + a->metadata_own, "Rung's own, as far as touched");
    row("absent", a->absent, "of live, cached and pinned: never touched, or swapped out");
    snprintf(what, sizeof what, "and %s more reserved", human(a->reserved));
    row("accessible", a->accessible, what);
    printf("  arenas: %zu, their sub-heaps: %zu, windows of runs: %zu\n", a->arenas, a->heaps, a->windows);
}

static void print_class(const char *name, const struct class_account *c) {
    printf("%10s %10zu %10zu %10zu %10zu %10s  %10s\n", name, minus(c->out, c->cached), c->cached, c->free, c->runs,
           human(c->pinned), human(c->free_pages));
}

/* Those that have a hundredth of all runs, and what the others have together. */
static void print_classes(const struct inspection *i) {
    struct class_account others = {0};
    size_t runs = 0, sizes = 0;
    for (unsigned bin = 0; bin < RUN_BINS; bin++)
        runs += i->classes[bin].runs;
    if (runs == 0)
        return;
    puts("\nobjects in runs\n      size       live     cached       free       runs     pinned  free pages");
    for (unsigned bin = 0; bin < RUN_BINS; bin++) {
        const struct class_account *c = &i->classes[bin];
        if (c->runs * 100 >= runs) {
            char name[24];
            snprintf(name, sizeof name, "%zu", run_bin_size(bin));
            print_class(name, c);
            continue;
        }
        sizes += c->runs > 0;
        others.runs += c->runs;
        others.out += c->out;
        others.cached += c->cached;
        others.free += c->free;
        others.free_pages += c->free_pages;
        others.pinned += c->pinned;
    }
    if (sizes > 0) {
        print_class("others", &others);
        printf("  others: %zu sizes with less than a hundredth of the runs each; --json has them all\n", sizes);
    }
}

static void print_arenas(const struct inspection *i) {
    puts("\narenas\n    number    threads     memory       free  of that resident     pinned");
    for (size_t n = 0; n < i->arena_count; n++) {
        const struct arena_view *v = &i->arenas[n];
        if (v->left_out)
            printf("%10u %10u   left out of all figures: it made no sense each time it was looked at\n", v->number,
                   v->threads);
        else
            printf("%10u %10u %10s %10s %17s %10s\n", v->number, v->threads, human(v->system), human(v->free_bytes),
                   human(v->resident_free), human(v->pinned));
    }
}

static void print_windows(const struct inspection *i) {
    if (i->window_count == 0)
        return;
    puts("\nwindows, a sign a MiB: # + - resident from 3/4, from 1/4, less; o more than half of that free;\n"
         "_ accessible, not resident; . not accessible");
    for (size_t n = 0; n < i->window_count; n++) {
        const struct window_view *w = &i->windows[n];
        printf("  %012lx %s %10s  %s\n", (unsigned long)w->start, kind_name(w), human(w->resident), w->picture);
    }
}

static void print_options(void) {
    printf("\noptions, profile %s: those that differ from it, and those without effect\n",
           profile_name[option_profile()]);
    for (int o = 0; o < OPTION_COUNT; o++) {
        enum option which = (enum option)o;
        const char *no_effect = option_no_effect(which);
        if (option_origin(which) == ORIGIN_PROFILE && no_effect == NULL &&
            option(which) == option_info(which)->profile[option_profile()])
            continue;
        printf("  %s = %zu (%s)%s%s\n", option_info(which)->name, option(which), option_origin_text(which),
               no_effect != NULL ? ": NO EFFECT: " : "", no_effect != NULL ? no_effect : "");
    }
}

void stat_print_text(const struct target *t, const struct inspection *i) {
    printf("process %d (%s), Rung %s from %s\n", t->pid, t->command, t->view.version, t->library);
    if (i->in_motion)
        puts("it was at work meanwhile: the figures are from different moments and need not add up");
    if (i->damaged)
        puts(i->in_motion ? "parts changed each time they were looked at, and are counted roughly, or left out: try again"
                          : "parts make no sense, and are counted roughly, or left out: its heap may be damaged");
    print_memory(i);
    print_classes(i);
    print_arenas(i);
    print_windows(i);
    print_options();
}

/* ---- for programs ---- */

static void json_arenas(const struct inspection *i) {
    printf("  \"arenas\": [");
    for (size_t n = 0; n < i->arena_count; n++) {
        const struct arena_view *v = &i->arenas[n];
        printf("%s\n    {\"number\": %u, \"threads\": %u, \"system\": %zu, \"free\": %zu, \"free_resident\": %zu, "
               "\"pinned\": %zu, \"left_out\": %s}",
               n == 0 ? "" : ",", v->number, v->threads, v->system, v->free_bytes, v->resident_free, v->pinned,
               v->left_out ? "true" : "false");
    }
    printf("\n  ],\n");
}

static void json_windows(const struct inspection *i) {
    printf("  \"windows\": [");
    for (size_t n = 0; n < i->window_count; n++) {
        const struct window_view *w = &i->windows[n];
        printf("%s\n    {\"start\": \"0x%lx\", \"kind\": \"%s\", \"resident\": %zu, \"picture\": \"%s\"}",
               n == 0 ? "" : ",", (unsigned long)w->start, kind_name(w), w->resident, w->picture);
    }
    printf("\n  ],\n");
}

void stat_print_json(const struct target *t, const struct inspection *i) {
    char *buf = malloc(REPORT_MAX);
    if (buf == NULL)
        return;
    printf("{\n  \"pid\": %d,\n  \"command\": ", t->pid);
    print_json_string(t->command);
    printf(",\n  \"version\": \"%s\",\n  \"library\": ", t->view.version);
    print_json_string(t->library);
    printf(",\n  \"in_motion\": %s,\n  \"damaged\": %s,\n  \"kernel\": {\"rss\": %zu, \"private_dirty\": %zu, \"swap\": %zu},\n",
           i->in_motion ? "true" : "false", i->damaged ? "true" : "false", i->rss, i->private_dirty, i->swap);
    struct text text = text_in(buf, REPORT_MAX);
    json_memory(&text, &i->account);
    text_add(&text, ",\n");
    json_classes(&text, i->classes);
    text_add(&text, ",\n");
    json_counters(&text, i->counts);
    text_add(&text, ",\n");
    fputs(buf, stdout);
    free(buf);
    json_arenas(i);
    json_windows(i);
    tunables_print_members();
    puts("\n}");
}
