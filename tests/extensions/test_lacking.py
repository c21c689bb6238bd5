# SPDX-License-Identifier: Apache-2.0
"""Definitions whose header lacks functions: which, of which file, and how they begin."""

from __future__ import annotations

from pathlib import Path

import pytest

from gigastream.codegen.lacking import lacking
from tests.captures import DEMO_CAPTURE
from tests.cli.command import gigastream

QUERY = """SELECT tb, mean(len) AS m, max(twice(len)) AS t, max(thrice(len)) AS u FROM IPV4
GROUP BY time/600 AS tb"""


def test_each_header_lacks_its_own(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.with_suffix(".gsql").write_text(
        "float UDAF [LFTA_LEGAL] mean fstring16 (uint);\nuint FUN [LFTA_LEGAL] twice (uint);"
    )
    one.with_suffix(".h").write_text(
        '#include "gs_extension.h"\n'
        "static inline void gs_udaf_mean_uint_init(void *state) {}\n"
        "static inline double gs_udaf_mean_uint_output(const void *state) { return 0; }\n"
        "static inline bool gs_udaf_mean_uint_valid(const void *state) { return true; }\n"
        "static inline uint32_t gs_function_twice_uint(uint32_t x) { return 2 * x; }\n"
    )
    other.with_suffix(".gsql").write_text("uint FUN [LFTA_LEGAL] thrice (uint);")
    other.with_suffix(".h").write_text('#include "gs_extension.h"\n')
    files = ("--definitions", f"{one}.gsql", "--definitions", f"{other}.gsql")
    done = gigastream("run", *files, "-r", DEMO_CAPTURE, "-e", QUERY)
    assert done.code == 1
    assert "/ld" not in done.err
    of_one = done.err[done.err.index(f"{one}.h lacks") : done.err.index(f"{other}.h lacks")]
    assert "static inline void gs_udaf_mean_uint_update(S *state, the arguments)\n" in of_one
    assert "static inline void gs_udaf_mean_uint_merge(S *state, const S *other)\n" in of_one
    assert of_one.count("static inline") == 2
    of_other = done.err[done.err.index(f"{other}.h lacks") :]
    assert "static inline T gs_function_thrice_uint(the arguments)\n" in of_other
    assert "hint: S is the type of the state, void for an fstring;" in of_other


@pytest.mark.parametrize("said", ["undefined reference to `%s'", "undefined symbol: %s"])
def test_what_linkers_say(said: str, tmp_path: Path) -> None:
    (tmp_path / "x.h").touch()
    symbols = ("gs_handle_words_string_new", "gs_state_every_end", "gs_field_ttl", "gs_other_what")
    told = lacking("\n".join(said % each for each in symbols), '#include "x.h"\n', [tmp_path])
    assert told is not None
    assert "void *gs_handle_words_string_new(the constant, char *message, size_t" in told
    assert "void gs_state_every_end(void *state)" in told
    assert "bool gs_field_ttl(const struct gs_packet *packet, T *value)" in told
    assert told.endswith("static inline gs_other_what")


def test_what_is_no_header_of_the_users_stays_as_it_is(tmp_path: Path) -> None:
    assert (
        lacking("undefined reference to `gs_udaf_x_init'", '#include "x.h"\n', [tmp_path]) is None
    )
    assert lacking("error: expected ';'", "", [tmp_path]) is None
