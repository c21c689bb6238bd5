# SPDX-License-Identifier: Apache-2.0
"""Where sets may write: those of the start, and those that come later."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from pwd import getpwnam

import pytest

from gigastream.daemon.daemon_config import DaemonConfig, StreamConfig
from gigastream.daemon.launching import DaemonError
from gigastream.daemon.messages import QuerySetSpec
from gigastream.daemon.places import OutputPlaces, PlacesError, owner_hint, places_of
from gigastream.daemon.targets_of_sets import check_places, output_specs


def _spec(*outputs: str, name: str = "talkers", file: str = "query.gsql") -> QuerySetSpec:
    return QuerySetSpec(name=name, text="", file=file, outputs=outputs)


def _places(folder: Path) -> OutputPlaces:
    return OutputPlaces(
        (folder / "rows",),
        own=(folder,),
        outputs=frozenset({folder / "own.csv"}),
        private=(folder / "rows" / "run",),
    )


def _refusal(places: OutputPlaces, spec: QuerySetSpec, *others: QuerySetSpec) -> tuple[str, str]:
    with pytest.raises(DaemonError) as caught:
        check_places(spec, places, others, is_configured=False)
    return str(caught.value), caught.value.hint or ""


def test_a_set_of_the_configuration_writes_beside_what_the_start_wrote(tmp_path: Path) -> None:
    spec = _spec(f"csv:{tmp_path}/more.csv", f"json:{tmp_path}/rows/.hidden")
    assert check_places(spec, _places(tmp_path), (), is_configured=True)


def test_a_later_set_does_not(tmp_path: Path) -> None:
    message, hint = _refusal(_places(tmp_path), _spec(f"csv:{tmp_path}/more.csv"))
    assert message == f"talkers: {tmp_path}/more.csv is below no folder that may be written"
    assert hint == f"folders that may: {tmp_path}/rows"
    taken = _spec(f"csv:{tmp_path}/own.csv")
    assert check_places(taken, _places(tmp_path), (), is_configured=False)


def test_the_hint_names_the_key_where_there_is_no_folder() -> None:
    _, hint = _refusal(OutputPlaces(()), _spec("csv:/srv/more.csv"))
    assert hint.startswith("--folder FOLDER at the daemon's start, or the key folders")


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (".ssh/authorized_keys", "is hidden"),
        ("a/../.profile", "is hidden"),
        ("run/x.csv", "which is the daemon's own"),
        ("link/x.csv", "link is a link"),
        ("../own2.csv", "is below no folder"),
        ("a\nb", "has the character U+000A"),
        ("a\0b", "has the character U+0000"),
    ],
)
def test_what_later_sets_may_not_write(tmp_path: Path, place: str, said: str) -> None:
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "link").symlink_to(tmp_path)
    message, hint = _refusal(_places(tmp_path), _spec(f"csv:{tmp_path}/rows/{place}"))
    assert said in message
    assert hint


def test_a_name_with_control_characters_is_refused() -> None:
    message, _ = _refusal(OutputPlaces(()), _spec(file="a\x1b[2J.gsql"))
    assert message == r"talkers: the file 'a\x1b[2J.gsql' has the character U+001B"


@pytest.mark.parametrize("other", ["x", "./x", "/x", "a/../x", "x/"])
def test_one_place_has_one_name(tmp_path: Path, other: str) -> None:
    spec = _spec(f"csv:{tmp_path}/rows/{other}")
    first = _spec(f"csv:{tmp_path}/rows/x", name="first")
    message, _ = _refusal(_places(tmp_path), spec, first)
    assert message == f"talkers: {tmp_path}/rows/x is an output of first"


def test_a_folder_stays_one() -> None:
    (output,) = output_specs(_spec("csv://srv//rows/"))
    assert output.path == "/srv/rows/"


def test_the_kernels_folders_are_no_place() -> None:
    message, _ = _refusal(OutputPlaces((Path("/"),)), _spec("csv:/proc/self/mem"))
    assert message.endswith("is the kernel's: in /proc no files can be made")


@pytest.mark.parametrize("folder", ["/srv/gs", "/srv/gs/cache", "/srv/gs/cache/rows"])
def test_the_cache_and_folders_are_apart(folder: str) -> None:
    config = DaemonConfig(folders=(Path(folder),))
    with pytest.raises(DaemonError, match="one lies in the other"):
        places_of(config, Path("/srv/gs/cache"), ())
    places_of(config, Path("/srv/other"), ())


def test_definitions_lie_where_no_set_writes() -> None:
    """With the headers beside them they are code, of whoever can write there."""
    config = DaemonConfig(folders=(Path("/srv/gs"),), definitions=("/srv/gs/own/own.gsql",))
    with pytest.raises(DaemonError, match=r"own.gsql lie in /srv/gs, below which"):
        places_of(config, Path("/srv/cache"), ())
    places_of(replace(config, definitions=("/etc/gigastream/own.gsql",)), Path("/srv/cache"), ())


def _python(folder: Path, mode: int = 0o644) -> DaemonConfig:
    """A file in Python of the configuration, which anybody may come to."""
    file = folder / "own.py"
    file.write_text("")
    file.chmod(mode)
    return DaemonConfig(definitions=(str(file),))


def test_a_file_in_python_is_the_administrators_or_the_daemons(tmp_path: Path) -> None:
    config = _python(tmp_path)
    places_of(config, Path("/srv/cache"), ())
    if os.geteuid() == 0:
        os.chown(config.definitions[0], getpwnam(config.user).pw_uid, 0)
        places_of(config, Path("/srv/cache"), ())
        os.chown(config.definitions[0], 1, 1)
        with pytest.raises(PlacesError, match=r"own\.py belongs to .*: it is not loaded") as caught:
            places_of(config, Path("/srv/cache"), ())
        assert caught.value.key == "definitions"


def test_no_file_in_python_that_others_can_write(tmp_path: Path) -> None:
    with pytest.raises(PlacesError, match="can be written by others") as caught:
        places_of(_python(tmp_path, 0o666), Path("/srv/cache"), ())
    assert caught.value.hint == (
        "a file and a folder of root's, or nobody's, that nobody else can write"
    )
    with pytest.raises(PlacesError, match=r"none\.py: No such file"):
        places_of(DaemonConfig(definitions=(f"{tmp_path}/none.py",)), Path("/srv/cache"), ())
    with pytest.raises(PlacesError, match="below which sets that are added"):
        places_of(replace(_python(tmp_path), folders=(tmp_path.parent,)), Path("/srv/cache"), ())


def test_no_folder_of_the_system_is_given_away() -> None:
    for folder in ("/etc/gigastream", "/srv/rows", "/home/ann", "/var/lib/gigastream"):
        assert "chown" not in owner_hint(Path(folder), "nobody")
    assert owner_hint(Path("/srv/gs/rows"), "nobody").startswith("chown nobody /srv/gs/rows")


def test_no_set_writes_among_the_records_of_a_stream(tmp_path: Path) -> None:
    (tmp_path / "rows" / "in").mkdir(parents=True)
    (tmp_path / "rows" / "other").mkdir()
    places = replace(_places(tmp_path), read=frozenset({tmp_path / "rows" / "in"}))
    message, hint = _refusal(places, _spec(f"csv:{tmp_path}/rows/in/out.csv"))
    assert "lies where the records of a STREAM are read" in message
    assert hint == "a folder of its own"
    there = _spec(f"csv:{tmp_path}/rows/other/out.csv")
    assert check_places(there, places, (), is_configured=False)


def test_nor_do_those_of_the_start(tmp_path: Path) -> None:
    stream = StreamConfig("events", str(tmp_path / "in"))
    config = DaemonConfig(streams=(stream,))
    with pytest.raises(PlacesError, match="lies where the records of a STREAM are read"):
        places_of(config, None, [tmp_path / "in" / "out.csv"])
    assert places_of(config, None, [tmp_path / "out.csv"]).read == {tmp_path / "in"}
