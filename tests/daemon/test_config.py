# SPDX-License-Identifier: Apache-2.0
"""The daemon's configuration file: what it means, and what is said of one that is wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from captures import ROOT
from hypothesis import given
from hypothesis import strategies as st

from gigastream.config import ConfigError
from gigastream.daemon.config import LINK_OPTIONS, load_daemon_config
from gigastream.daemon.config_text import check_text, dump_text
from gigastream.daemon.daemon_config import DaemonConfig
from gigastream.daemon.messages import SpoolSpec
from gigastream.liveness import Liveness
from gigastream.options import OPTIONS

EXAMPLE = ROOT / "configs" / "gigastream.toml"
LINK = '[[link]]\ndevice = "eth0"\n'
EVERYTHING = """\
user = "daemon"
cache = "cache"
state = "state"
folders = ["rows", "/srv/rows"]
definitions = ["own.gsql"]
library = "library"
watchdog = "1min"
log = "json"
strict = true
memory = "1GiB"
disorder = "all"
link-type = "147=ETHERNET,148=IPV6"
slots = 1024
speed = 1.5
[control]
socket = "control.sock"
group = "adm"
[overload]
policy = "sample"
high-percent = 70
low-percent = 5
calm = "10s"
most = 4
[metrics]
address = "127.0.0.1:9464"
[[link]]
device = "eth0"
name = "up"
ring = "128MiB"
fanout = 2
promiscuous = false
liveness = "1min"
on-failure = "go-on"
[link.properties]
role = "uplink"
speed = 10
[[link]]
device = "eth1"
[[file]]
name = "pipe"
path = "packets.pcap"
properties = { role = "test" }
[[query]]
file = "own_talkers.gsql"
param = { port = 443, "q.name" = "x" }
output = ["csv:rows/a", "spool:spool"]
segment-rows = 1000
sync = "10s"
keep-bytes = "20GiB"
keep-age = "14d"
rotate-bytes = "1GiB"
rotate-every = "1h"
keep = 3
cut-column = true
[[query]]
name = "bare"
text = \"\"\"
[[link]]
device = 3
SELECT 'x' FROM IP\"\"\"
first-window = "cut"
priority = -1
low-level-only = true
output = ["spool:bare"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own_talkers.gsql").write_text("SELECT srcIP FROM IP")
    return tmp_path


def test_the_packaged_one_is_right() -> None:
    load_daemon_config(ROOT / "packaging" / "deb" / "gigastream.toml")


def _loaded(folder: Path, text: str) -> DaemonConfig:
    path = folder / "gigastream.toml"
    path.write_text(text)
    return load_daemon_config(path)


def _refused(folder: Path, text: str) -> tuple[str, str | None]:
    with pytest.raises(ConfigError) as caught:
        _loaded(folder, text)
    message = str(caught.value)
    assert message.startswith(f"{folder}/gigastream.toml:")
    return message.removeprefix(f"{folder}/gigastream.toml:"), caught.value.hint


def test_the_example_is_right() -> None:
    assert check_text(str(EXAMPLE)).endswith(
        "1 link, 2 query sets of 2 queries: nothing is wrong with it"
    )


def test_the_example_without_its_comment_signs_is_right_too(tmp_path: Path) -> None:
    """Each key that it shows is one, of the kind that it shows."""
    lines = EXAMPLE.read_text().splitlines()
    begun = lines.index('# user = "nobody"')
    shown = [
        line.removeprefix("# ")
        for line in lines[begun:]
        if not line.startswith("# ") or " = " in line or line.startswith("# [[")
    ]
    config = _loaded(tmp_path, "\n".join(shown))
    assert config.metrics == "127.0.0.1:9464"
    assert config.files[0].path == "/run/packets.pcap"
    assert config.query_sets[0].keep == 48


def test_every_option_of_a_link_is_in_the_example_and_in_the_documentation() -> None:
    example = EXAMPLE.read_text()
    for option in LINK_OPTIONS:
        assert f"{option.name} = " in example
    documentation = (ROOT / "docs" / "daemon-configure.md").read_text()
    for option in (*LINK_OPTIONS, *OPTIONS):
        assert f"`{option.name}`" in documentation


def test_everything_that_is_said_is_meant(folder: Path) -> None:
    config = _loaded(folder, EVERYTHING)
    assert (config.user, config.socket_group, config.log_format) == ("daemon", "adm", "json")
    assert config.socket == folder / "control.sock"
    assert config.folders == (folder / "rows", Path("/srv/rows"))
    assert (config.cache, config.state) == (folder / "cache", folder / "state")
    assert config.definitions == (str(folder / "own.gsql"),)
    assert config.watchdog_s == 60
    assert config.is_strict
    assert config.overload.policy == "sample"
    assert config.overload.calm_ns == 10 * 10**9
    assert config.settings.memory_bytes == 1 << 30
    assert config.settings.livenesses == (("up", Liveness(60 * 10**9, "go-on")),)
    up, other = config.links
    assert (up.interface, up.device, up.settings.user) == ("up", "eth0", "daemon")
    assert (up.settings.ring_bytes, up.settings.fanout) == (128 << 20, 2)
    assert not up.settings.promiscuous
    assert up.properties == {"role": "uplink", "speed": "10"}
    assert (other.interface, other.device) == ("eth1", "eth1")
    assert config.files[0].path == str(folder / "packets.pcap")
    talkers, bare = config.query_sets
    assert talkers.name == "own_talkers"
    assert talkers.text == "SELECT srcIP FROM IP"
    assert talkers.parameters == {"port": "443", "q.name": "x"}
    assert talkers.outputs == (
        f"csv:{folder}/rows/a",
        f"spool:{folder}/spool",
    )
    assert talkers.spool == SpoolSpec(
        segment_rows=1000, sync=10**10, keep_bytes=20 << 30, keep_age_ns=14 * 86400 * 10**9
    )
    assert (talkers.rotate_bytes, talkers.rotate_ns, talkers.keep) == (1 << 30, 3600 * 10**9, 3)
    assert (talkers.cut_column, bare.cut_column) == (True, False)
    assert (bare.first_window, bare.priority, bare.low_level_only) == ("cut", -1, True)


def test_a_dump_says_the_same(folder: Path) -> None:
    config = _loaded(folder, EVERYTHING)
    again = _loaded(folder, dump_text(config))
    assert _without_files(again) == _without_files(config)


def _without_files(config: DaemonConfig) -> DaemonConfig:
    """A dump has the texts, and tells in a comment where they are from."""
    sets = tuple(msgspec.structs.replace(spec, file="") for spec in config.query_sets)
    return replace(config, query_sets=sets)


@pytest.mark.parametrize("text", ["a\tb", "it's'''so", "ends with '", "\x7f", "ümlaut \U0001f600"])
def test_a_dump_keeps_every_text(folder: Path, text: str) -> None:
    written = text.encode("unicode_escape").decode()
    escaped = "".join(f"\\U{ord(c):08x}" for c in text)
    assert written
    config = _loaded(folder, f'{LINK}[[query]]\nname = "x"\ntext = "{escaped}"\n')
    assert config.query_sets[0].text == text
    assert _loaded(folder, dump_text(config)).query_sets[0].text == text


WRONG = [
    (f'{LINK}rin = "1MiB"', "3: unknown key 'rin' in [[link]]", "did you mean ring?"),
    (f'usr = "x"\n{LINK}', "1: unknown key 'usr'", "did you mean user?"),
    (f'{LINK}[contrl]\nsocket = "x"', "3: unknown key 'contrl'", "did you mean control?"),
    (f"{LINK}[control]\nsocket = 3", "4: socket: expected a text, got a whole number", None),
    (f'{LINK}ring = "much"', "3: ring: 'much' is not a size such as 64kB or 16MiB", None),
    (f'{LINK}ring-block = "65kB"', "1: a ring's block of 65000 bytes", None),
    ('[[link]]\nname = "eth0"', "1: device is missing in [[link]]", "device = …"),
    ("[[link]\n", "1: this is no TOML: ", None),
    (f"{LINK}x = [1,\n", "3: this is no TOML: ", None),
    (
        f"watchdog = 30s\n{LINK}",
        "1: this is no TOML: ",
        'texts, times and sizes stand in quotes: "30s"',
    ),
    (f"{LINK}ring = MiB", "3: this is no TOML: ", 'texts, times and sizes stand in quotes: "30s"'),
    (f'{LINK}device = "eth1"', "3: this is no TOML: ", "a key stands once in its table"),
    ("", "1: there is no [[link]], no [[file]] and no [[stream]]: nothing to read", None),
    (f'{LINK}[overload]\npolicy = "dorp"', "4: policy: 'dorp' is none of", "did you mean drop?"),
    (f"{LINK}[overload]\nlow-percent = 80", "3: low-percent is less than high-percent", None),
    (f'{LINK}[metrics]\naddress = "here"', "4: 'here' is no HOST:PORT", "127.0.0.1:9464"),
    (f'{LINK}[metrics]\naddress = "a..b:1"', "4: 'a..b:1' is no HOST:PORT", "127.0.0.1:9464"),
    (f"{LINK}[[query]]\n", "3: a query has either a file or a text", None),
    (f'{LINK}[[query]]\ntext = "x"', "3: a query with a text has a name, too", None),
    (
        f'{LINK}[[query]]\nfile = "no.gsql"',
        "4: ",
        "gigastream queries: what ships",
    ),
    (f'{LINK}[[query]]\nfile = "talkerz"', "4: ", "did you mean talkers?"),
    (
        f'{LINK}[[query]]\nname = "a"\ntext = "x"\noutput = ["cvs:x"]',
        "6: there is no output format 'cvs'",
        "did you mean csv?",
    ),
    (
        f'{LINK}[[query]]\nname = "a"\ntext = "x"\n[[query]]\nname = "a"\ntext = "y"',
        "6: there are two sets called a",
        None,
    ),
    (
        f'{LINK}[[query]]\nname = "a"\ntext = "x"\noutput = ["csv:x"]\n'
        '[[query]]\nname = "b"\ntext = "y"\noutput = ["json:./x"]',
        "10: the set a has /",
        "a path each",
    ),
    (f'{LINK}[[query]]\nname = "a"\ntext = "x"\noutput = ["csv"]', "6: csv names no path", None),
    (
        f'{LINK}[[query]]\nname = "a"\ntext = "x"\nlow-level-only = true',
        "6: low-level-only is for spools, and not every output is one",
        None,
    ),
    (
        f'{LINK}[[query]]\nname = "a"\ntext = "x"\nkeep-age = "1h"',
        "6: keep-age is for a spool, and no output is one",
        'output = ["spool:PATH"]',
    ),
    (
        f'{LINK}[[query]]\nname = "a"\ntext = "x"\noutput = ["duckdb:t.db"]',
        "6: duckdb:",
        'output = ["spool:/FOLDER", "duckdb:…"]: each set with tables has one spool',
    ),
    (
        f'{LINK}[[query]]\nname = "a"\ntext = "x"\noutput = ["spool:s", '
        '"postgres:postgresql://me:open@host/db"]',
        "6: postgres: an output is shown to who may ask, and this one has a password",
        "PGPASSWORD, PGPASSFILE or PGSERVICEFILE in the daemon's environment",
    ),
    (
        f"{LINK}[[query]]\nname = 'a'\ntext = '''\npriority = 1\n'''\npriority = 'x'",
        "8: priority: expected a whole number, got a text",
        None,
    ),
    (f"{LINK}[link.properties]\nrole = []", "3: properties: ", None),
    (f"{LINK}liveness = []", "3: liveness: expected ", None),
    (f'{LINK}[control]\nsocket = ""', "4: the path of a socket has from 1 to 107 bytes", None),
    (f'{LINK}[control]\nsocket = "{"a" * 108}"', "4: the path of a socket has from", None),
    (f'folders = ["\\u0000"]\n{LINK}', "1: a path has a byte that none can have", None),
    (f'{LINK}on-failure = "go"', "3: on-failure: 'go' is none of", None),
]


@pytest.mark.parametrize(("text", "message", "hint"), WRONG, ids=[wrong[1] for wrong in WRONG])
def test_what_is_wrong_is_said_with_its_line(
    folder: Path, text: str, message: str, hint: str | None
) -> None:
    said, hinted = _refused(folder, text)
    assert said.startswith(message)
    assert hint is None or hinted == hint


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        load_daemon_config(tmp_path / "none.toml")


def test_places_in_each_others_way_are_said_before_a_start(folder: Path) -> None:
    message, hint = _refused(folder, f'state = "/srv"\nfolders = ["/srv/rows"]\n{LINK}')
    assert message == (
        "2: state is /srv, and /srv/rows is a folder that sets may write: one lies in the other"
    )
    assert hint == "state and folders apart from each other"


def test_a_check_has_the_carets_of_a_query_that_is_wrong(folder: Path) -> None:
    path = folder / "gigastream.toml"
    path.write_text(f'{LINK}[[query]]\nname = "a"\ntext = "SELECT srcPI FROM IP"\n')
    with pytest.raises(ConfigError, match="did you mean srcIP") as caught:
        check_text(str(path))
    assert str(caught.value).startswith(f"{path}:5: in this text, that of the set a:\na.gsql:1:8: ")


def test_a_parameter_that_is_wrong_is_said_with_its_line(folder: Path) -> None:
    path = folder / "gigastream.toml"
    path.write_text(f'{LINK}[[query]]\nfile = "talkers"\npriority = 1\nparam = {{ x = 3 }}\n')
    with pytest.raises(ConfigError, match="no query has a parameter x") as caught:
        check_text(str(path))
    assert str(caught.value).startswith(f"{path}:6: in `param` of the set talkers:\n")


def test_a_policy_and_its_bounds_are_said_together(folder: Path) -> None:
    path = folder / "gigastream.toml"
    path.write_text(f'{LINK}[overload]\npolicy = "dorp"\nlow-percent = 80\nmost = 0\n')
    with pytest.raises(ConfigError) as caught:
        check_text(str(path))
    told = str(caught.value)
    assert all(part in told for part in ("low-percent is less", "most is from 1", "'dorp' is none"))


def test_a_user_that_is_not_there_has_its_place_beside_what_else_is_wrong(folder: Path) -> None:
    path = folder / "gigastream.toml"
    path.write_text(f'usr = "x"\nuser = "nobody-there"\n{LINK}')
    with pytest.raises(ConfigError) as caught:
        check_text(str(path))
    assert f"{path}:1: unknown key 'usr'" in str(caught.value)
    assert f"{path}:2: there is no user 'nobody-there'" in str(caught.value)


def test_all_that_is_wrong_is_said_at_once(folder: Path) -> None:
    path = folder / "gigastream.toml"
    path.write_text(ALL_WRONG)
    with pytest.raises(ConfigError) as caught:
        check_text(str(path))
    told = [
        line.removeprefix(f"{path}:")
        for line in str(caught.value).splitlines()
        if line.startswith(f"{path}:")
    ]
    assert [line.partition(":")[0] for line in told] == [
        *("1", "2", "4", "6", "7", "10", "14", "19", "22", "12", "26")
    ]
    assert "eth0 has a [[link]] already" in told[5]
    assert "there is no group 'nobody-there'" in told[9]


ALL_WRONG = """\
usr = "x"
watchdog = "soon"
[[link]]
device = "a/b"
[[link]]
ring = "much"
fanout = []
device = "eth0"
[[link]]
device = "eth0"
[control]
group = "nobody-there"
[[query]]
name = "a\\u0001b"
text = "SELECT 1"
[[query]]
name = "kernel"
text = "SELECT srcIP FROM IP"
output = ["csv:/proc/self/x"]
[[query]]
name = "far"
priority = 99999999999999999999
text = "SELECT srcIP FROM IP"
[[query]]
name = "wrong"
text = "SELECT srcPI FROM IP"
"""


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("[" * 100_000, "too many brackets in each other"),
        ("{a=" * 100_000, "too many brackets in each other"),
        ("1" * 5_000, "a number has too many digits"),
        ("0x" + "f" * 5_000, "a number has too many digits"),
    ],
    ids=["brackets", "tables", "digits", "hexadecimal"],
)
def test_what_no_parser_takes_is_wrong_too(folder: Path, value: str, what: str) -> None:
    said, _ = _refused(folder, f"{LINK}properties = {{ x = {value} }}\n")
    assert said.endswith(what)
    assert said.partition(":")[0] in ("1", "3")


VALUES = (
    *("3", "-1", "0", "1.5", '"x"', '""', "true", "[]", "[1]", "{}", "{ a = 1 }", '["csv:x"]'),
    *("[{}]", "1979-05-27", "nan", "99999999999999999999", '"1s"', '"eth0"', '"\\u0000"'),
)
KEYS = (
    *("link", "file", "query", "control", "overload", "metrics", "user", "watchdog", "log"),
    *("device", "name", "ring", "fanout", "properties", "liveness", "on-failure", "text", "output"),
    *("param", "keep", "rotate-every", "rotate-bytes", "high-percent", "most", "calm", "address"),
    *("socket", "slots", "memory", "speed", "definitions", "folders", "cache", "path", "x.y"),
)
_LINES = st.one_of(
    st.tuples(st.sampled_from(KEYS), st.sampled_from(VALUES)).map(" = ".join),
    st.sampled_from(KEYS).map("[{}]".format),
    st.sampled_from(("link", "file", "query", "x")).map("[[{}]]".format),
    st.sampled_from(EVERYTHING.splitlines()),
)


@given(st.lists(_LINES, max_size=12).map("\n".join))
def test_no_file_is_more_than_wrong(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_text(text)
    told, config = str(path), None
    try:
        config = load_daemon_config(path)
    except ConfigError as error:
        told = str(error)
    assert told.startswith(str(path))
    if config is not None:
        path.write_text(dump_text(config))
        assert _without_files(load_daemon_config(path)) == _without_files(config)
