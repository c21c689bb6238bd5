# SPDX-License-Identifier: Apache-2.0
"""Functions of one's own in C, beside a definition file: low and high, of every type."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.captures import DEMO_CAPTURE
from tests.cli.command import gigastream

# Of each type: the C type, a column of it, the protocol that has it.
TYPES = {
    "bool": ("uint8_t", "len > 100", "IPV4"),
    "ushort": ("uint16_t", "destPort", "TCP"),
    "uint": ("uint32_t", "len", "IPV4"),
    "int": ("int32_t", "INT(len) - 100", "IPV4"),
    "ullong": ("uint64_t", "ULLONG(len) * 5000000000", "IPV4"),
    "llong": ("int64_t", "LLONG(len) - 100", "IPV4"),
    "timestamp": ("int64_t", "timestamp", "IPV4"),
    "float": ("double", "len / 3.0", "IPV4"),
    "IP": ("uint32_t", "srcIP", "IPV4"),
    "IPV6": ("struct gs_inet", "srcIP", "IPV6"),
    "INET": ("struct gs_inet", "srcIP", "TCP"),
    "string": ("struct gs_string", "TCP_data", "TCP"),
}
RUN = ("run", "-q", "-o", "csv", "-r", DEMO_CAPTURE)


def header(text: str) -> str:
    return f'#include "gs_strings.h"\n{text}'


def written(folder: Path, declarations: str, text: str) -> Path:
    (folder / "own.gsql").write_text(declarations)
    (folder / "own.h").write_text(header(text))
    return folder / "own.gsql"


def same(name: str, c_type: str) -> str:
    """The identity, whole and partial; a string's is a copy, as that of a made one must be."""
    key = name.lower()
    scratch = "struct gs_scratch *scratch, " if name == "string" else ""
    copy = "x"
    if name == "string":
        copy = "(struct gs_string){memcpy(room, x.bytes, x.length), x.length}"
    room = "uint8_t *room = gs_scratch_take(scratch, x.length);" if name == "string" else ""
    lacks = "if (room == NULL) return (struct gs_string){NULL, 0};" if name == "string" else ""
    fails = "if (room == NULL) return false;" if name == "string" else ""
    return f"""
static inline {c_type} gs_function_same_{key}({scratch}{c_type} x)
{{ {room} {lacks} return {copy}; }}
static inline bool gs_function_perhaps_{key}({scratch}{c_type} x, {c_type} *result)
{{ {room} {fails} *result = {copy}; return true; }}
"""


@pytest.fixture(scope="module")
def definitions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    declarations = "".join(
        f"{name} FUN [LFTA_LEGAL, COST LOW] same({name});\n"
        f"{name} FUN [LFTA_LEGAL, PARTIAL, COST LOW] perhaps({name});\n"
        for name in TYPES
    )
    text = "".join(same(name, c_type) for name, (c_type, _, _) in TYPES.items())
    return written(tmp_path_factory.mktemp("own"), declarations, text)


@pytest.mark.long
@pytest.mark.parametrize("name", TYPES)
def test_every_type_low_and_high(definitions: Path, name: str) -> None:
    """What comes back is what went in: in an LFTA, above the border, and as no value."""
    _, column, protocol = TYPES[name]
    query = f"""
    DEFINE {{ query_name low; visibility internal; }}
    SELECT time/600 AS tb, {column} AS x, same({column}) AS y, perhaps({column}) AS z
    FROM {protocol};
    DEFINE {{ query_name high; }}
    SELECT tb, count(*) AS rows FROM low
    WHERE x = y AND x = z AND same(x) = perhaps(y) GROUP BY tb;
    """
    done = gigastream(*RUN, "--definitions", definitions, "-e", query)
    plain = f"SELECT tb, count(*) AS rows FROM {protocol} GROUP BY time/600 AS tb"
    expected = gigastream(*RUN, "-e", plain)
    assert done.code == expected.code == 0, done.err + expected.err
    assert done.out == expected.out
    assert len(done.lines) > 1


GUARDED = """
static inline bool gs_function_half_uint(uint32_t x, uint32_t *result)
{ *result = x / 2; return x % 2 == 0; }
static inline uint8_t gs_predicate_is_even_uint(uint32_t x)
{ return x % 2 == 0; }
"""
DECLARED = (
    "uint FUN [LFTA_LEGAL, PARTIAL] half(uint);\nPRED [LFTA_LEGAL, COST FREE] is_even[uint];\n"
)


def test_no_value_drops_a_row_and_a_predicate_is_asked(tmp_path: Path) -> None:
    definitions = written(tmp_path, DECLARED, GUARDED)
    answers = [
        gigastream(*RUN, "--definitions", definitions, "-e", query).out
        for query in (
            "SELECT tb, sum(half(len)) AS s FROM IPV4 GROUP BY time/600 AS tb",
            "SELECT tb, sum(len/2) AS s FROM IPV4 WHERE is_even[len] GROUP BY time/600 AS tb",
            "SELECT tb, sum(len/2) AS s FROM IPV4 WHERE len%2 = 0 GROUP BY time/600 AS tb",
        )
    ]
    assert answers[0] == answers[1] == answers[2]
    assert answers[0].count(b"\n") > 1


HANDLE = """
static inline void *gs_handle_times_uint_uint_new(uint32_t factor, char *message, size_t size)
{
    uint32_t *handle = factor == 13 ? NULL : malloc(sizeof *handle);
    if (handle == NULL) snprintf(message, size, "13 is unlucky");
    else *handle = factor;
    return handle;
}
static inline void gs_handle_times_uint_uint_free(void *handle) { free(handle); }
static inline uint32_t gs_function_times_uint_uint(uint32_t x, const void *handle)
{ return x * *(const uint32_t *)handle; }
"""


def test_a_handle_is_made_of_its_constant(tmp_path: Path) -> None:
    declared = "uint FUN [LFTA_LEGAL] times(uint, uint HANDLE);\n"
    definitions = written(tmp_path, declared, HANDLE)
    query = "SELECT tb, sum(times(len, {})) AS s FROM IPV4 GROUP BY time/600 AS tb"
    plain = "SELECT tb, sum(len*3) AS s FROM IPV4 GROUP BY time/600 AS tb"
    done = gigastream(*RUN, "--definitions", definitions, "-e", query.format(3))
    assert done.out == gigastream(*RUN, "-e", plain).out
    refused = gigastream(*RUN, "--definitions", definitions, "-e", query.format(13))
    assert refused.code != 0
    assert "13 is unlucky" in refused.err


def test_a_function_that_the_header_lacks_is_told(tmp_path: Path) -> None:
    definitions = written(tmp_path, "uint FUN [LFTA_LEGAL] lacking(uint);\n", "")
    done = gigastream(*RUN, "--definitions", definitions, "-e", "SELECT lacking(len) AS x FROM PKT")
    assert done.code == 1
    lacks = "static inline T gs_function_lacking_uint(the arguments)"
    assert f"{tmp_path}/own.h lacks\n  {lacks}" in done.err
