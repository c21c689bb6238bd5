/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of a STREAM's record, for generated code. A record is a frame that this host has made
 * (gigastream/records/frames.py): each field has its place at an offset that the STREAM's
 * declaration gives (gigastream/gsql/catalog/streams.py), in this host's byte order; of a string
 * the place has where its bytes begin and how many they are. */
#ifndef GS_FIELDS_RECORD_H
#define GS_FIELDS_RECORD_H

#include "gs_packet.h"

/* NULL where the frame is no record, or has no such place. */
static inline const uint8_t *gs_record_at(const struct gs_packet *p, uint32_t offset, uint32_t size)
{
    if (p->link != GS_LINK_RECORD || p->caplen < size || offset > p->caplen - size) return NULL;
    return p->bytes + offset;
}

/* True where the frame is a record that has the field at `offset`. */
#define GS_RECORD_FIELD(type, c_type)                                                              \
    static inline bool gs_record_##type(const struct gs_packet *p, uint32_t offset, c_type *value) \
    {                                                                                              \
        const uint8_t *place = gs_record_at(p, offset, sizeof *value);                             \
        if (place == NULL) return false;                                                           \
        memcpy(value, place, sizeof *value);                                                       \
        return true;                                                                               \
    }

GS_RECORD_FIELD(bool, uint8_t)
GS_RECORD_FIELD(ushort, uint16_t)
GS_RECORD_FIELD(uint, uint32_t)
GS_RECORD_FIELD(int, int32_t)
GS_RECORD_FIELD(ullong, uint64_t)
GS_RECORD_FIELD(llong, int64_t)
GS_RECORD_FIELD(float, double)
GS_RECORD_FIELD(ip, uint32_t)
GS_RECORD_FIELD(ipv6, struct gs_inet)
GS_RECORD_FIELD(inet, struct gs_inet)
GS_RECORD_FIELD(timestamp, int64_t)

static inline bool gs_record_string(const struct gs_packet *p, uint32_t offset,
                                    struct gs_string *value)
{
    uint32_t begin, length;
    if (!gs_record_uint(p, offset, &begin) || !gs_record_uint(p, offset + 4, &length)) return false;
    const uint8_t *bytes = gs_record_at(p, begin, length);
    if (bytes == NULL) return false;
    *value = (struct gs_string){bytes, length};
    return true;
}

#endif
