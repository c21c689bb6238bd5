/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of packets, one accessor each, for generated code: configs/packet.gsql names them by
 * what stands behind `gs_field_`. An accessor is true where the packet has the field; its caller
 * has checked that the packet is one of the protocol that declares the field, so what every such
 * packet has is a load and nothing else. All bounds were checked by the decoder (csrc/decode).
 *
 * A field that both IP families have comes in three forms: `_ipv4`, `_ipv6`, and without a suffix
 * for a packet of either. */
#ifndef GS_FIELDS_H
#define GS_FIELDS_H

#include "gs_fields_link.h"
#include "gs_fields_network.h"
#include "gs_fields_record.h"
#include "gs_fields_transport.h"

#endif
