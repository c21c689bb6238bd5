/* SPDX-License-Identifier: Apache-2.0 */
/* What follows a header that names another link by its number, as PPI and PKTAP do. None of these
 * names such a header again: so nothing nests. */
#include "layer.h"

static const struct {
    uint32_t number; /* DLT_ */
    uint8_t layer;
} links[] = {
    {0, GS_LAYER_NULL},         {1, GS_LAYER_ETHERNET}, {9, GS_LAYER_PPP},
    {10, GS_LAYER_FDDI},        {12, GS_LAYER_RAW},     {14, GS_LAYER_RAW},
    {101, GS_LAYER_RAW},        {50, GS_LAYER_PPP},     {6, GS_LAYER_TOKEN_RING},
    {105, GS_LAYER_IEEE802_11}, {108, GS_LAYER_NULL},   {127, GS_LAYER_RADIOTAP},
};

enum gs_layer gs_layer_of_dlt(uint32_t number)
{
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
        if (links[i].number == number) return (enum gs_layer)links[i].layer;
    return GS_LAYER_END;
}
