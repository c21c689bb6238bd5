# SPDX-License-Identifier: Apache-2.0
"""Which tables sets may have, and what loaders remember of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gigastream.daemon.launching import DaemonError
from gigastream.daemon.loader_losses import LoaderLosses
from gigastream.daemon.loader_progress import (
    ReadRows,
    TableProgress,
    TableTakenError,
    alone,
    progress_path,
    read_progress,
    write_progress,
)
from gigastream.daemon.messages import QuerySetSpec
from gigastream.daemon.places import OutputPlaces
from gigastream.daemon.tables_of_sets import tables_of, wanted_tables, written_folder
from gigastream.daemon.targets_of_sets import check_places, folders_of, output_specs
from gigastream.spool.account import StreamAccount

PLACES = OutputPlaces((Path("/srv/rows"),), own=(Path("/srv/lake"),), tables=True)
URI = "postgresql://me@host/db"


def spec_of(*outputs: str, name: str = "t") -> QuerySetSpec:
    return QuerySetSpec(name=name, text="", outputs=outputs)


def refused(
    *outputs: str, places: OutputPlaces = PLACES, others: tuple[QuerySetSpec, ...] = ()
) -> tuple[str, str]:
    """Of a set that comes later."""
    with pytest.raises(DaemonError) as caught:
        check_places(spec_of(*outputs), places, others, is_configured=False)
    return str(caught.value), caught.value.hint or ""


def test_a_table_is_filled_from_the_spool_beside_it() -> None:
    spec = spec_of("spool:/srv/rows/s/", "duckdb:/srv/rows/../rows/t.db#x", "delta:/srv/rows/d/")
    assert [output.format for output in output_specs(spec)] == ["spool"]
    assert [(each.spool.rstrip("/"), each.table) for each in wanted_tables(spec)] == [
        ("/srv/rows/s", "duckdb:/srv/rows/t.db#x"),
        ("/srv/rows/s", "delta:/srv/rows/d"),
    ]
    assert check_places(spec, PLACES, (), is_configured=False)


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        (("duckdb:/srv/rows/t.db",), "is filled from a spool of the set, which names none"),
        (("spool:/srv/rows/s", "spool:/srv/rows/r", "delta:/srv/rows/d"), "which names 2"),
        (("spool:/srv/rows/s", "delta:/srv/rows/d", "delta:/srv/rows/d/"), "its tables are one"),
        (("spool:/srv/rows/s", "duckdb:/srv/rows/t#a", "duckdb:/srv/rows/t#b"), "in one file"),
        (("spool:/srv/rows/s", "csv:/srv/rows/t", "duckdb:/srv/rows/t"), "have one path"),
        (("spool:/srv/rows/s", "duckdb:rows.db"), "names no absolute path"),
        (("spool:/srv/rows/s", "dataset:s3://bucket/x"), "names no absolute path"),
        (("spool:/srv/rows/s", "duckdb:/proc/x"), "is the kernel's"),
        (("spool:/srv/rows/s", "dataset:/srv/rows/d#../../x"), "is no name of a table here"),
        (("spool:/srv/rows/s", "duckdb:/srv/else/t.db"), "below no folder that may be written"),
        (("spool:/srv/rows/s", "dataset:/srv/lake"), "below no folder that may be written"),
        (("spool:/srv/rows/s", "dataset:/srv/rows/.hidden"), "is hidden"),
        (("spool:/srv/rows/s", "dataset:/srv/rows/s/in"), "are one in the other"),
        (("spool:/srv/rows/a/s", "dataset:/srv/rows/a"), "are one in the other"),
        (("spool:/srv/rows/s", f"postgres:{URI}"), "only sets of the configuration"),
        (("spool:/srv/rows/s", "delta:s3://bucket/x"), "only sets of the configuration"),
    ],
)
def test_what_a_later_set_may_not_have(outputs: tuple[str, ...], said: str) -> None:
    message, hint = refused(*outputs)
    assert said in message
    assert hint


def test_a_password_is_refused_and_not_repeated() -> None:
    for text in (
        "postgres:postgresql://me:sesame@host/db",
        "postgres:postgresql://me:open#sesame@host/db",
        "postgres:host=x password=sesame",
        "postgres:host=x oauth_client_secret=sesame",
    ):
        message, hint = refused("spool:/srv/rows/s", text)
        assert "has a password" in message
        assert "sesame" not in message + hint


def test_sets_of_the_configuration_may_have_tables_elsewhere() -> None:
    spec = spec_of("spool:/srv/rows/s", f"postgres:{URI}", "dataset:/srv/lake")
    assert check_places(spec, PLACES, (), is_configured=True)
    assert folders_of((), [spec]) == (Path("/srv/rows"), Path("/srv/lake"))


def test_a_daemon_that_fills_none_says_how_it_would() -> None:
    without = OutputPlaces((Path("/srv/rows"),))
    message, hint = refused("spool:/srv/rows/s", "duckdb:/srv/rows/t.db", places=without)
    assert message == "t: this daemon fills no tables, such as duckdb:/srv/rows/t.db"
    assert hint == "tables = true in its configuration, and a restart"


def test_a_database_in_a_file_is_of_one_set_and_a_folder_of_tables_of_all() -> None:
    other = spec_of("spool:/srv/rows/o", "duckdb:/srv/rows/t.db", "delta:/srv/rows/d", name="o")
    message, _ = refused("spool:/srv/rows/s", "duckdb:/srv/rows/t.db", others=(other,))
    assert message == "t: /srv/rows/t.db is an output of o"
    spec = spec_of("spool:/srv/rows/s", "delta:/srv/rows/d")
    assert check_places(spec, PLACES, (other,), is_configured=False)
    assert tables_of(spec)


def test_a_loader_writes_below_what_is_there(tmp_path: Path) -> None:
    assert written_folder(f"duckdb:{tmp_path}/a/b/t.db") == tmp_path
    (tmp_path / "lake").mkdir()
    assert written_folder(f"dataset:{tmp_path}/lake#x") == tmp_path / "lake"
    assert written_folder(f"postgres:{URI}") is None


# ---- what is remembered ----


def test_a_plan_that_comes_again_is_another_writer(tmp_path: Path) -> None:
    """One whose rows have ended has its last number, below which all would be known."""
    first = TableProgress().reading(1, "run a")
    assert (first.writer, first.earlier) == ("run a", ())
    assert first.reading(1, "run a") == first
    second = first.reading(2, "run b")
    assert (second.writer, second.earlier) == ("run b", ("run a",))
    third = second.reading(2, "run a")
    assert (third.writer, third.earlier) == ("run a 2", ("run a", "run b"))
    path = progress_path(tmp_path, "spool", "duckdb:/t.db")
    assert read_progress(path) == TableProgress()
    write_progress(path, third)
    assert read_progress(path) == third
    for garbage in (b"{", b"\xff", b'{"plans": [{"run": "\xff", "writer": ""}]}', b"[" * 100_000):
        path.write_bytes(garbage)
        assert read_progress(path) == TableProgress()


def test_one_loader_alone_has_a_table_and_its_spool(tmp_path: Path) -> None:
    path = progress_path(tmp_path / "tables", "spool", "dataset:/lake")
    with alone(path):
        with pytest.raises(TableTakenError, match="another loader still fills it"), alone(path):
            pass
        with alone(progress_path(tmp_path / "tables", "spool", "dataset:/other")):
            pass
    with alone(path):
        pass


# ---- what nobody has read ----


def account(rows: int, retired: int = 0, lost: int = 0) -> StreamAccount:
    return StreamAccount("low", "eth0", 1, rows, 1, 1, lost_rows=lost, retired_rows=retired)


def test_what_a_loader_before_has_read_is_no_loss_when_it_is_deleted() -> None:
    """Its losses are counted once: each loader reads a generation from what is left of it on."""
    first = LoaderLosses({})
    first.take([account(80, lost=20)])
    assert (first.retired_rows, first.lost_rows) == (0, 20)
    second = LoaderLosses(first.read)
    assert second.read == first.read
    second.take([account(10, retired=40, lost=20)])
    second.take([account(60, retired=40, lost=20)])
    assert (second.retired_rows, second.lost_rows) == (0, 0)
    third = LoaderLosses(second.read)
    third.take([account(0, retired=130)])
    third.take([account(50, retired=130)])
    third.take([account(50, retired=137, lost=3)])
    assert (third.retired_rows, third.read["low eth0 1"].rows) == (17, 190)


def test_what_was_deleted_while_a_loader_reads_again_is_counted_from_where_the_last_was() -> None:
    losses = LoaderLosses({"low eth0 1": ReadRows(100)})
    losses.take([account(40, retired=10)])
    losses.take([account(40, retired=50)])
    assert losses.retired_rows == 0
    losses.take([account(40, retired=70)])
    assert losses.retired_rows == 10
