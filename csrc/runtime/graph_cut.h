/* SPDX-License-Identifier: Apache-2.0 */
/* What a graph does not see whole, since its set comes or goes while its engine is at work: from
 * the LFTAs on through all operators. */
#ifndef GS_RUNTIME_GRAPH_CUT_H
#define GS_RUNTIME_GRAPH_CUT_H

#include "graph.h"

/* Before it has seen a packet. By interface, the greatest timestamp of those that it will not see;
 * INT64_MIN: there were none. False: no memory. */
bool gs_graph_cut_begin(struct gs_graph *graph, const int64_t *seen_ns);
/* Its input is about to be broken off: what is closed by now is put out, as whole; what comes out
 * behind that is cut. `is_kept`: with only_whole, too, it is put out. */
void gs_graph_cut_end(struct gs_graph *graph, bool is_kept);

#endif
