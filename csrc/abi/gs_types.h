/* SPDX-License-Identifier: Apache-2.0 */
/* The values that GSQL knows, as C sees them: shared by the engine and by generated code. */
#ifndef GS_TYPES_H
#define GS_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GS_CACHE_LINE_BYTES 64

/* What every fallible function returns. */
enum gs_status {
    GS_OK = 0,
    GS_END = 1,     /* nothing will ever come again */
    GS_AGAIN = 2,   /* nothing now; ask again later */
    GS_DAMAGED = 3, /* the input is damaged here; what came before it is good */
    GS_ERROR = 4,   /* failed; see the message */
    GS_REFUSED = 5  /* a source is no capture that we can read; see the message */
};

/* The types of GSQL section 3; the numbers are part of the boundary with Python. */
enum gs_type {
    GS_BOOL = 1,  /* uint8_t 0 or 1 in a slot, one bit in a column */
    GS_USHORT,    /* uint16_t */
    GS_UINT,      /* uint32_t */
    GS_INT,       /* int32_t */
    GS_ULLONG,    /* uint64_t */
    GS_LLONG,     /* int64_t */
    GS_FLOAT,     /* double */
    GS_STRING,    /* struct gs_string */
    GS_IP,        /* uint32_t, host order: 1.2.3.4 is 0x01020304 */
    GS_IPV6,      /* struct gs_inet */
    GS_INET,      /* struct gs_inet, IPv4 as ::ffff:a.b.c.d */
    GS_TIMESTAMP, /* int64_t, ns since the epoch */
    GS_OPAQUE     /* fstringN: struct gs_opaque_N; in a column N bytes a row */
};

#define GS_OPAQUE_MAX 16384u /* bytes of the largest opaque value */

/* The type of N bytes that no operation looks into, and a row of a column of them. In a variable,
 * a slot or a group it is aligned for whatever struct its bytes are: a user's function is given a
 * pointer to them, and may read them as that struct, which what copies them must expect. */
#define GS_OPAQUE_TYPE(n)                                                                          \
    struct __attribute__((may_alias)) gs_opaque_##n {                                              \
        _Alignas(8) uint8_t bytes[n];                                                              \
    };                                                                                             \
    static inline struct gs_opaque_##n gs_opaque_##n##_at(const void *values, uint32_t row)        \
    {                                                                                              \
        struct gs_opaque_##n value;                                                                \
        memcpy(value.bytes, (const uint8_t *)values + (size_t)row * (n), n);                       \
        return value;                                                                              \
    }

/* Bytes that live somewhere else: in the packet, in a batch, in a literal. */
struct gs_string {
    const uint8_t *bytes;
    uint32_t length;
};

/* Sixteen bytes in network order, held as two words in *memory* order: equality and hashing need
 * no byte swap; order does (gs_inet_compare). */
struct gs_inet {
    uint64_t words[2];
};

/* Bounds of punctuation are in this type, whatever the column's; decreasing columns are held as
 * their negatives, so that every bound only grows (OPERATORS section 1). */
typedef int64_t gs_bound;
#define GS_BOUND_NONE INT64_MIN /* nothing is promised yet */
#define GS_BOUND_END INT64_MAX  /* the stream has ended */

static inline uint16_t gs_load_be16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, 2);
    return __builtin_bswap16(v);
}

static inline uint32_t gs_load_be32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return __builtin_bswap32(v);
}

static inline struct gs_inet gs_inet_from_bytes(const uint8_t *p)
{
    struct gs_inet v;
    memcpy(&v, p, 16);
    return v;
}

/* ::ffff:a.b.c.d of an IPv4 address in host order. */
static inline struct gs_inet gs_inet_from_ip(uint32_t ip)
{
    uint8_t b[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    uint32_t network_order = __builtin_bswap32(ip);
    memcpy(b + 12, &network_order, 4);
    return gs_inet_from_bytes(b);
}

static inline bool gs_inet_equal(struct gs_inet a, struct gs_inet b)
{
    return ((a.words[0] ^ b.words[0]) | (a.words[1] ^ b.words[1])) == 0;
}

/* The bits of `mask` are those of `prefix`. */
static inline bool gs_inet_in_prefix(struct gs_inet a, struct gs_inet prefix, struct gs_inet mask)
{
    return (((a.words[0] ^ prefix.words[0]) & mask.words[0]) |
            ((a.words[1] ^ prefix.words[1]) & mask.words[1])) == 0;
}

/* <0, 0, >0 as the addresses' bytes compare. */
static inline int gs_inet_compare(struct gs_inet a, struct gs_inet b)
{
    return memcmp(&a, &b, 16);
}

#endif
