# SPDX-License-Identifier: Apache-2.0
"""gigastream spool ls, cat, verify, repair, prune: what is said, what is changed, what never is."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from gigastream.cli.main import run_command_line
from gigastream.spool import Spool, SpoolWriter, commit_reader
from tests.serving.servers import Keys, make_keys, serving
from tests.spool.made import all_numbers, folder_of, only_track, open_track, write_run

NOBODY = 65534
Said = pytest.CaptureFixture[str]


def spool(*words: str | os.PathLike[str]) -> int:
    return run_command_line(["spool", *map(os.fspath, words)])


def as_json(said: Said, *words: str | os.PathLike[str]) -> tuple[int, Any]:
    code = spool(*words, "--json")
    return code, json.loads(said.readouterr().out)


# ---- ls ----


def test_what_is_there_is_listed(tmp_path: Path, capsys: Said) -> None:
    write_run(tmp_path, 3, 4, 5)
    commit_reader(only_track(tmp_path).track, "spark", 1)
    code, value = as_json(capsys, "ls", tmp_path)
    (stream,) = value["streams"]
    assert (code, value["has_writer"], value["damage"]) == (0, False, [])
    assert (stream["stream"], stream["interface"], stream["generation"]) == ("flows", "eth0", 1)
    assert (stream["segments"], stream["rows"], stream["readers"]) == (3, 12, {"spark": 1})
    assert (stream["come_to_ns"], stream["is_ended"]) == (12, False)
    assert spool("ls", tmp_path) == 0
    shown = capsys.readouterr().out
    assert "nobody writes it" in shown
    assert "spark: 2 behind" in shown


def test_generations_that_are_no_tracks_any_more_are_listed(tmp_path: Path, capsys: Said) -> None:
    write_run(tmp_path, 3)
    write_run(tmp_path, 4, plan={"low": ["others"]})
    _, value = as_json(capsys, "ls", tmp_path)
    assert [(each["generation"], each["rows"]) for each in value["streams"]] == [(1, 3), (2, 4)]


def test_a_writer_at_work_is_told(tmp_path: Path, capsys: Said) -> None:
    with SpoolWriter(tmp_path) as writer:
        open_track(writer)
        assert as_json(capsys, "ls", tmp_path)[1]["has_writer"] is True


def test_a_damaged_line_is_told_by_ls(tmp_path: Path, capsys: Said) -> None:
    write_run(tmp_path, 3, 4)
    manifest = folder_of(tmp_path) / "manifest-000001"
    manifest.write_bytes(manifest.read_bytes().replace(b'"rows":4', b'"rows":9'))
    assert spool("ls", tmp_path) == 1
    assert "its checksum does not fit" in capsys.readouterr().err


# ---- cat ----


def test_rows_come_in_every_format(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    write_run(tmp_path / "s", 2, 2)
    want = [{"n": n, "ip": f"0.0.0.{n}"} for n in range(4)]
    assert spool("cat", tmp_path / "s", "-o", "json") == 0
    assert [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()] == want
    assert spool("cat", tmp_path / "s", "-o", "csv") == 0
    assert capfdbinary.readouterr().out.split() == [
        b"n,ip",
        *(b"%d,0.0.0.%d" % (n, n) for n in range(4)),
    ]
    assert spool("cat", tmp_path / "s", "-o", "arrow") == 0
    with pyarrow.ipc.open_stream(io.BytesIO(capfdbinary.readouterr().out)) as stream:
        assert stream.read_all().column("n").to_pylist() == [0, 1, 2, 3]
    assert spool("cat", tmp_path / "s", "-o", f"parquet:{tmp_path / 'p'}") == 0
    assert pyarrow.parquet.read_table(tmp_path / "p").column("n").to_pylist() == [0, 1, 2, 3]
    assert spool("cat", tmp_path / "s", "-o", "table") == 0
    assert b"0.0.0.3" in capfdbinary.readouterr().out


@pytest.mark.parametrize(
    ("words", "want"),
    [
        (("--from", "1"), [2, 3, 4, 5]),
        (("--to", "1"), [0, 1]),
        (("--from", "1", "--to", "2"), [2, 3]),
        (("--from", "1970-01-01T00:00:00Z"), [0, 1, 2, 3, 4, 5]),
        (("--to", "1970-01-01"), []),
        (("--interface", "eth0", "--stream", "flows"), [0, 1, 2, 3, 4, 5]),
    ],
)
def test_rows_are_chosen(
    tmp_path: Path, capfd: Said, words: tuple[str, ...], want: list[int]
) -> None:
    write_run(tmp_path, 2, 2, 2)
    assert spool("cat", tmp_path, "-o", "json", *words) == 0
    assert [json.loads(line)["n"] for line in capfd.readouterr().out.splitlines()] == want


def test_rows_of_sound_segments_come_beside_a_damaged_one(tmp_path: Path, capfd: Said) -> None:
    write_run(tmp_path, 2, 2, 2)
    os.truncate(folder_of(tmp_path) / "segment-0000000001.arrows", 100)
    assert spool("cat", tmp_path, "-o", "json") == 1
    said = capfd.readouterr()
    assert [json.loads(line)["n"] for line in said.out.splitlines()] == [0, 1, 4, 5]
    assert said.err.count("is lost with 2 rows: it has 100 bytes of") == 1


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("cat", "--interface", "eth7"), "has no interface eth7\nhint: there are: eth0"),
        (("cat", "--stream", "x"), "has no stream x\nhint: there are: flows"),
        (("cat", "--from", "soon"), "--from soon is no segment and no time"),
        (("cat", "--generation", "9"), "has no generation 9"),
        (("ls", "--older", "1s"), "--older is nothing that `spool ls` knows\nhint: it is of prune"),
        (("cat", "-o", "xml"), "there is no output format 'xml'"),
        (("prune",), "nothing says which segments go"),
        (("prune", "--committed", "--force"), "--committed asks the readers"),
        (("prune", "--bytes", "-1"), "'-1' is not a size"),
    ],
)
def test_wrong_words_are_told(
    tmp_path: Path, capsys: Said, words: tuple[str, ...], text: str
) -> None:
    write_run(tmp_path, 2)
    assert spool(words[0], tmp_path, *words[1:]) == 2
    assert text in capsys.readouterr().err


# ---- verify ----


def test_a_sound_spool_is_sound(tmp_path: Path, capsys: Said) -> None:
    write_run(tmp_path, 3, 4)
    write_run(tmp_path, 5, end=True)
    assert spool("verify", tmp_path) == 0
    assert "sound: 12 rows in 3 segments" in capsys.readouterr().out


def test_a_spool_at_work_is_sound(tmp_path: Path) -> None:
    """The segment that is being written is not one that nothing lists."""
    from tests.spool.made import BY_HAND, NOTHING, rows

    with SpoolWriter(tmp_path, BY_HAND) as writer:
        track = open_track(writer)
        track.write(rows(0, 3), (3, NOTHING), 3, 0)
        assert spool("verify", tmp_path) == 0


def segment(root: Path) -> Path:
    return folder_of(root) / "segment-0000000001.arrows"


def _link(root: Path) -> None:
    shutil.move(segment(root), root / "elsewhere")
    segment(root).symlink_to(root / "elsewhere")


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "torn": (lambda root: os.truncate(segment(root), 100), "it has 100 bytes of"),
    "missing": (lambda root: segment(root).unlink(), "it is missing"),
    "a pipe": (
        lambda root: (segment(root).unlink(), os.mkfifo(segment(root))),
        "it is a pipe and no file",
    ),
    "a link": (_link, "it is a link and no file"),
    "changed": (
        lambda root: segment(root).write_bytes(segment(root).read_bytes()[:-9] + b"123456789"),
        "its checksum does not fit",
    ),
    "unlisted": (
        lambda root: shutil.copy(segment(root), folder_of(root) / "segment-0000000007.arrows"),
        "segment-0000000007.arrows is not listed",
    ),
    "foreign": (lambda root: (folder_of(root) / "x").write_text(""), "/x belongs to no spool"),
    "plan": (lambda root: (root / "sets/000001/plan.json").write_text("["), "plan.json"),
    "progress": (lambda root: (root / "progress/eth0.json").write_text("["), "eth0.json"),
    "index": (lambda root: (root / "spool.json").write_text("[]"), "spool.json"),
    "generation": (
        lambda root: (folder_of(root) / "manifest-000001").write_bytes(b"\xff\n" * 3),
        "line 1, which ends at byte 1, is skipped",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_each_damage_is_said(tmp_path: Path, capsys: Said, name: str) -> None:
    act, text = DAMAGES[name]
    write_run(tmp_path, 3, 4, 5)
    act(tmp_path)
    assert spool("verify", tmp_path) == 1
    assert text in capsys.readouterr().out
    assert as_json(capsys, "verify", tmp_path)[0] == 1


def test_lost_rows_are_counted(tmp_path: Path, capsys: Said) -> None:
    write_run(tmp_path, 3, 4, 5)
    segment(tmp_path).unlink()
    _, value = as_json(capsys, "verify", tmp_path)
    (stream,) = value["streams"]
    assert (stream["rows"], stream["lost_rows"], stream["lost_segments"]) == (8, 4, 1)


def test_rows_behind_the_punctuation_are_said(tmp_path: Path, capsys: Said) -> None:
    """A writer that breaks its promise: sound by its checksums, wrong for whoever believed it."""
    from tests.spool.made import BY_HAND, COLUMNS, NOTHING, query_set, rows

    columns = [{**COLUMNS[0], "temporal": "increasing"}, COLUMNS[1]]
    port = "flows", "eth0"
    with SpoolWriter(tmp_path, BY_HAND) as writer:
        track = writer.open(query_set(columns=columns), [port])[port]
        for sequence, first in enumerate((10, 0)):
            track.write(rows(first, 3), (first + 3, NOTHING), first + 3, sequence)
            track._cut()
    assert spool("verify", tmp_path) == 1
    assert "0 is behind the punctuation, 13" in capsys.readouterr().out


def test_garbage_is_never_a_fault_of_ours(tmp_path: Path, capfd: Said) -> None:
    """Any file of a spool with bytes changed, cut or replaced: told, or not noticed."""
    whole, seed = tmp_path / "whole", random.Random(1)
    write_run(whole, 3, 4)
    commit_reader(only_track(whole).track, "spark", 1)
    files = sorted(path.relative_to(whole) for path in whole.rglob("*") if path.is_file())
    for turn in range(60):
        root = tmp_path / str(turn)
        shutil.copytree(whole, root)
        path = root / files[turn % len(files)]
        _damage(path, seed)
        for words in (("ls",), ("cat", "-o", "csv"), ("verify",), ("repair",), ("repair", "--yes"),
                      ("prune", "--older", "0s")):  # fmt: skip
            assert spool(words[0], root, *words[1:]) in (0, 1, 2)
            said = capfd.readouterr()
            assert "a fault in Gigastream" not in said.err, (path, words, said.err)


def _damage(path: Path, seed: random.Random) -> None:
    data = bytearray(path.read_bytes())
    kind = seed.randrange(5)
    if kind == 0:
        path.write_bytes(data[: seed.randrange(len(data) + 1)])
    elif kind == 1:
        path.write_bytes(seed.randbytes(200))
    elif kind == 2:
        path.write_text('{"segment": 1e400, "first": 99999999999999999999, "set": -1, "format": 3}')
    elif kind == 3:
        path.unlink()
        os.mkfifo(path)
    else:
        for _ in range(4):
            data[seed.randrange(len(data))] = seed.randrange(256)
        path.write_bytes(data)


# ---- repair ----


def torn(root: Path) -> None:
    """Leave what a writer that was killed does: half a line, a segment and a file being made."""
    folder = folder_of(root)
    with (folder / "manifest-000001").open("ab") as manifest:
        manifest.write(b"12345678 {")
    shutil.copy(folder / "segment-0000000000.arrows", folder / "segment-0000000002.arrows")
    (folder / ".retained.new").write_text("{")


def files(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_what_is_torn_is_put_right_and_counted(tmp_path: Path, capsys: Said) -> None:
    write_run(tmp_path, 3, 4)
    torn(tmp_path)
    before = files(tmp_path)
    assert spool("repair", tmp_path) == 0
    said = capsys.readouterr().out
    assert "10 bytes of a torn line" in said
    assert "nothing was changed: --yes does it" in said
    assert files(tmp_path) == before
    assert spool("repair", tmp_path, "--yes") == 0
    assert not (folder_of(tmp_path) / ".retained.new").exists()
    assert not (folder_of(tmp_path) / "segment-0000000002.arrows").exists()
    track = only_track(tmp_path)
    assert all_numbers(track) == list(range(7))
    assert [(lost.manifest_bytes, lost.segments) for lost in track.track.lost][-1] == (10, 1)
    assert spool("verify", tmp_path) == 0
    capsys.readouterr()
    assert spool("repair", tmp_path, "--yes") == 0
    assert "nothing to put right" in capsys.readouterr().out
    write_run(tmp_path, 2)
    assert all_numbers(only_track(tmp_path)) == list(range(9))


def test_progress_is_made_again(tmp_path: Path) -> None:
    write_run(tmp_path, 3, 4)
    progress = tmp_path / "progress" / "eth0.json"
    progress.unlink()
    os.mkfifo(progress)
    assert spool("repair", tmp_path, "--yes") == 0
    assert progress.is_file()
    assert spool("verify", tmp_path) == 0
    write_run(tmp_path, 2, end=True)
    assert all_numbers(only_track(tmp_path)) == list(range(9))


def test_damaged_rows_stay_what_they_are(tmp_path: Path, capsys: Said) -> None:
    write_run(tmp_path, 3, 4)
    segment(tmp_path).unlink()
    before = files(tmp_path)
    assert spool("repair", tmp_path, "--yes") == 0
    assert "nothing to put right" in capsys.readouterr().out
    assert files(tmp_path) == before


@pytest.mark.parametrize("words", [("repair", "--yes"), ("prune", "--older", "0s", "--yes")])
def test_what_a_run_writes_is_not_changed(
    tmp_path: Path, capsys: Said, words: tuple[str, ...]
) -> None:
    write_run(tmp_path, 3)
    torn(tmp_path)
    with SpoolWriter(tmp_path) as writer:
        writer._hold()
        before = files(tmp_path)
        assert spool(words[0], tmp_path, *words[1:]) == 2
        assert files(tmp_path) == before
    assert f"a run writes {tmp_path}" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("repair", "--yes"), ("prune", "--older", "0s", "--yes")])
def test_nothing_behind_a_link_is_changed(
    tmp_path: Path, capsys: Said, words: tuple[str, ...]
) -> None:
    root, elsewhere = tmp_path / "s", tmp_path / "elsewhere"
    write_run(root, 3)
    torn(root)
    shutil.move(folder_of(root), elsewhere)
    folder_of(root).symlink_to(elsewhere)
    before = files(elsewhere)
    assert spool(words[0], root, *words[1:]) == 2
    assert files(elsewhere) == before
    assert "is a link, which no spool has" in capsys.readouterr().err


@pytest.fixture
def nobodys() -> Iterator[Path]:
    """A spool of another user, in a folder that he may enter."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        root = Path(folder) / "s"
        write_run(root, 3, 3)
        for path in (root, *root.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        yield root


@pytest.mark.privileged
def test_root_changes_it_as_its_owner_would(nobodys: Path) -> None:
    torn(nobodys)
    os.truncate(nobodys / "progress" / "eth0.json", 3)
    os.chown(folder_of(nobodys) / ".retained.new", NOBODY, NOBODY)
    assert spool("repair", nobodys, "--yes") == 0
    assert spool("prune", nobodys, "--bytes", "1", "--yes") == 0
    assert {path.stat().st_uid for path in nobodys.rglob("*")} == {NOBODY}
    assert os.geteuid() == 0


# ---- prune ----


def pruned(said: Said, root: Path, *words: str) -> tuple[int, int]:
    (generation,) = as_json(said, "prune", root, *words)[1]["generations"]
    return generation["segments"], generation["held_segments"]


def test_the_oldest_go_and_readers_are_told(tmp_path: Path, capsys: Said) -> None:
    write_run(tmp_path, 3, 3, 3, 3)
    size = (folder_of(tmp_path) / "segment-0000000000.arrows").stat().st_size
    before = files(tmp_path)
    assert pruned(capsys, tmp_path, "--bytes", str(2 * size)) == (2, 0)
    assert files(tmp_path) == before
    assert pruned(capsys, tmp_path, "--bytes", str(2 * size), "--yes") == (2, 0)
    track = only_track(tmp_path).track
    assert (track.retained().first, track.retained().rows) == (2, 6)
    assert as_json(capsys, "ls", tmp_path)[1]["streams"][0]["rows"] == 6
    assert spool("verify", tmp_path) == 0


def test_what_a_reader_needs_stays_unless_it_is_forced(tmp_path: Path, capsys: Said) -> None:
    write_run(tmp_path, 3, 3, 3)
    commit_reader(only_track(tmp_path).track, "spark", 1)
    assert pruned(capsys, tmp_path, "--older", "0s", "--yes") == (1, 2)
    assert pruned(capsys, tmp_path, "--committed") == (0, 2)
    assert pruned(capsys, tmp_path, "--older", "0s", "--force", "--yes") == (2, 0)


def test_what_is_committed_goes_where_there_is_a_reader(tmp_path: Path, capsys: Said) -> None:
    write_run(tmp_path, 3, 3, 3)
    assert spool("prune", tmp_path, "--committed", "--yes") == 0
    assert "nothing to delete" in capsys.readouterr().out
    commit_reader(only_track(tmp_path).track, "spark", 2)
    assert pruned(capsys, tmp_path, "--committed", "--yes") == (2, 1)


def test_what_is_young_stays(tmp_path: Path, capsys: Said) -> None:
    write_run(tmp_path, 3)
    assert spool("prune", tmp_path, "--older", "1d", "--yes") == 0
    assert "nothing to delete" in capsys.readouterr().out


def test_a_run_goes_on_behind_what_was_pruned(tmp_path: Path) -> None:
    write_run(tmp_path, 3, 3)
    assert spool("prune", tmp_path, "--older", "0s", "--yes") == 0
    write_run(tmp_path, 3)
    (track,) = Spool(tmp_path).tracks()
    kept = [e for e in track.poll() if e.is_segment and (e.segment or 0) >= track.retained().first]
    assert [entry.segment for entry in kept] == [2]


# ---- other places ----


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return make_keys(tmp_path_factory.mktemp("keys"))


def test_a_served_spool_is_listed_read_and_verified(
    tmp_path: Path, capfd: Said, keys: Keys
) -> None:
    root = tmp_path / "probe"
    write_run(root, 3, 4, end=True)
    with serving(keys, root) as server:
        url = server.url()
        access = ("--token-file", str(keys.token), "--ca-file", str(keys.certificate))
        assert spool("verify", url, *access) == 0
        assert "sound: 7 rows in 2 segments" in capfd.readouterr().out
        assert as_json(capfd, "ls", url, *access)[1]["streams"][0]["rows"] == 7
        assert spool("cat", url, "-o", "csv", *access) == 0
        assert len(capfd.readouterr().out.splitlines()) == 8
        assert spool("repair", url) == 2


def test_a_shipped_spool_is_verified_there(tmp_path: Path, capsys: Said) -> None:
    root, there = tmp_path / "s", tmp_path / "there"
    write_run(root, 3, 4, end=True)
    assert run_command_line(["ship", str(root), str(there), "--once"]) == 0
    assert spool("verify", there) == 0
    capsys.readouterr()
    assert as_json(capsys, "ls", there)[1]["streams"][0]["rows"] == 7
    assert spool("repair", there, "--yes") == 2
    assert "was shipped to" in capsys.readouterr().err
