# SPDX-License-Identifier: Apache-2.0
"""The shipped functions are read when a query names one, and are then those of the files."""

from __future__ import annotations

import pytest

from gigastream.gsql.catalog import build
from gigastream.gsql.catalog.catalog import Catalog
from gigastream.gsql.diagnostics import DiagnosticSink
from gigastream.late_dataclass import fields
from gigastream.paths import configs_directory


@pytest.fixture
def late() -> Catalog:
    """The shipped catalog, of which nothing was asked yet."""
    build._shipped_catalog.cache_clear()
    return build.load_catalog()


@pytest.fixture
def at_once() -> Catalog:
    """The same, all of it read."""
    sink = DiagnosticSink()
    return build.build_catalog(build._shipped(configs_directory()), sink)


def test_it_is_the_catalog_that_is_read_at_once(late: Catalog, at_once: Catalog) -> None:
    for one in fields(Catalog):
        found, wanted = getattr(late, one.name), getattr(at_once, one.name)
        assert repr(dict(found)) == repr(dict(wanted))
        assert list(found) == list(wanted)
        assert len(found) == len(wanted)
    assert len(late.functions) > 50


def test_each_function_is_found_first(at_once: Catalog) -> None:
    for kind in ("functions", "predicates", "aggregates", "extractors", "stateful_functions"):
        for name, wanted in getattr(at_once, kind).items():
            build._shipped_catalog.cache_clear()
            assert repr(getattr(build.load_catalog(), kind)[name]) == repr(wanted)


def test_what_no_file_has_a_word_of_is_not_looked_for(
    late: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the functions are read")

    monkeypatch.setattr(build, "parse_definitions", refuse)
    assert late.overloads("count") == ()
    assert late.aggregated("sum") == ()
    with pytest.raises(AssertionError):
        late.overloads("getlpmid")
