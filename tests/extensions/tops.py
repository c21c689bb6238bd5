# SPDX-License-Identifier: Apache-2.0
"""A UDAF for each type: the greatest value, of a state that is a struct beside others."""

from __future__ import annotations

from pathlib import Path

# Of each type: its C type, C that puts a above b, and a column of it with the protocol that has it.
TYPES = {
    "bool": ("uint8_t", "a > b", "len > 100", "IPV4"),
    "ushort": ("uint16_t", "a > b", "destPort", "TCP"),
    "uint": ("uint32_t", "a > b", "len", "IPV4"),
    "int": ("int32_t", "a > b", "INT(len)", "IPV4"),
    "ullong": ("uint64_t", "a > b", "ULLONG(len) * 5000000000000000", "IPV4"),
    "llong": ("int64_t", "a > b", "LLONG(len) - 100", "IPV4"),
    "timestamp": ("int64_t", "a > b", "timestamp", "IPV4"),
    "float": ("double", "a > b", "len / 3.0", "IPV4"),
    "IP": ("uint32_t", "a > b", "srcIP", "IPV4"),
    "IPV6": ("struct gs_inet", "gs_inet_compare(a, b) > 0", "srcIP", "IPV6"),
    "INET": ("struct gs_inet", "gs_inet_compare(a, b) > 0", "srcIP", "TCP"),
}
_OF_A_TYPE = """
struct top_{key} {{ uint8_t is_there; {c_type} value; }};
static inline bool above_{key}({c_type} a, {c_type} b) {{ return {above}; }}
static inline void gs_udaf_top_{key}_init(void *state) {{ (void)state; }}
static inline void gs_udaf_top_{key}_update(void *state, {c_type} value)
{{
    struct top_{key} *top = state;
    if (!top->is_there || above_{key}(value, top->value)) top->value = value;
    top->is_there = 1;
}}
static inline void gs_udaf_top_{key}_merge(void *state, const void *other)
{{
    const struct top_{key} *more = other;
    gs_udaf_top_{key}_update(state, more->value);
}}
static inline bool gs_udaf_top_{key}_valid(const void *state)
{{
    const struct top_{key} *top = state;
    return top->is_there == 1;
}}
static inline {c_type} gs_udaf_top_{key}_output(const void *state)
{{
    const struct top_{key} *top = state;
    return top->value;
}}
"""
_OTHERS = """
/* of a text its longest beginning of 30 bytes; as it is, or made */
struct text { uint8_t length, bytes[30]; };
static inline void gs_udaf_longest_string_init(void *state) { (void)state; }
static inline void gs_udaf_longest_string_update(void *state, struct gs_string value)
{
    struct text *text = state;
    struct gs_string kept = {text->bytes, text->length};
    if (value.length > 30) value.length = 30;
    if (gs_string_compare(value, kept) <= 0) return;
    text->length = (uint8_t)value.length;
    memcpy(text->bytes, value.bytes, value.length);
}
static inline bool gs_udaf_longest_string_output(struct gs_scratch *scratch, const void *state,
                                              struct gs_string *value)
{
    const struct text *text = state;
    uint8_t *room = gs_scratch_take(scratch, text->length);
    if (room == NULL || text->length == 0) return false;
    memcpy(room, text->bytes, text->length);
    *value = (struct gs_string){room, text->length};
    return true;
}
/* bits of opaque values, of odd size */
static inline void gs_udaf_bits_fstring5_init(void *state) { (void)state; }
static inline void gs_udaf_bits_fstring5_update(void *state, const uint8_t *value)
{
    uint8_t *bits = state;
    for (int at = 0; at < 5; at++)
        bits[at] |= value[at];
}
static inline void gs_udaf_bits_fstring5_merge(void *state, const void *other)
{
    gs_udaf_bits_fstring5_update(state, other);
}
static inline bool gs_udaf_bits_fstring5_valid(const void *state) { (void)state; return true; }
static inline void gs_udaf_bits_fstring5_output(const void *state, uint8_t *bits)
{
    memcpy(bits, state, 5);
}
static inline void gs_function_five_uint(uint32_t x, uint8_t *five)
{
    memcpy(five, &x, 4);
    five[4] = (uint8_t)((uintptr_t)five % 8);
}
/* two arguments, of which either may be NULL */
static inline void gs_udaf_pairs_uint_uint_init(uint64_t *state) { *state = 0; }
static inline void gs_udaf_pairs_uint_uint_update(uint64_t *state, uint32_t a, uint32_t b)
{
    *state += (uint64_t)a * b;
}
static inline uint64_t gs_udaf_pairs_uint_uint_output(const uint64_t *state) { return *state; }
"""
_DECLARED = """
string UDAF [PARTIAL] longest fstring31 (string);
fstring5 UDAF [LFTA_LEGAL] bits fstring5 (fstring5);
fstring5 FUN [LFTA_LEGAL] five (uint);
ullong UDAF pairs ullong (uint, uint);
"""


def definitions(folder: Path) -> Path:
    """A definition file with all of them, and its header."""
    path = folder / "tops.gsql"
    tops = (f"{name} UDAF [LFTA_LEGAL, COST LOW] top fstring32 ({name});\n" for name in TYPES)
    path.write_text("".join(tops) + _DECLARED)
    code = (
        _OF_A_TYPE.format(key=name.lower(), c_type=c_type, above=above)
        for name, (c_type, above, *_) in TYPES.items()
    )
    path.with_suffix(".h").write_text(f'#include "gs_extension.h"\n{"".join(code)}{_OTHERS}')
    return path
