/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations that fail (failing.c), and what a program does of them that is run again and again.
 */
#ifndef GS_TESTS_FAULTS_H
#define GS_TESTS_FAULTS_H

#include "gigastream.h"
#include "output/rows.h"
#include "runtime/attached_set.h"

#define FIRST_DIGEST 0xcbf29ce484222325u

struct outcome {
    int status;
    uint64_t refused, digest;
    struct gs_error error;
};

/* The program's own: all of it once, with a query set over files. */
struct outcome run_all(const char *object, int count, char **files);
/* Every way out of a batch, and the way back in; its lines are in the digest. */
int show(struct gs_batch *batch, struct gs_text *text, struct outcome *outcome);
void count_refused(const struct gs_attached_set *set, struct outcome *outcome);

#endif
