# SPDX-License-Identifier: Apache-2.0
"""Packets in watchlists: the rows that plain Python finds, whatever stands in the lists' files."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from random import Random

import pyarrow
import pytest
from pyarrow import parquet

from gigastream.engine import watchlists
from gigastream.engine.list_file import MOST_LIST_BYTES, ListError, ReadList, read_list
from gigastream.engine.watchlists import lib
from gigastream.gsql.source import SourceFile
from gigastream.gsql.types import Type
from gigastream.gsql.watchlists import ListColumn, Watchlist
from gigastream.plan import Plan, plan_queries
from gigastream.query_texts import QueryTexts, check_texts
from gigastream.sessions.session import Session
from gigastream.settings import Settings
from gigastream.sources.files import FileSource
from tests.answers.engine import Given, run, source
from tests.answers.mixture import Mixture, packets_of
from tests.oracle.query import packets
from tests.strategies import frames
from tests.strategies.files import NANOSECONDS, Packet, pcap
from tests.waiting import wait_until

LISTS = """
WATCHLIST nets { INET net (key); string label; uint score; } FROM 'nets.csv' EVERY 1 s;
WATCHLIST services { INET net (key); uint port (key); llong number; } FROM 'services.csv';
WATCHLIST names { string interface (key); float weight; bool good; } FROM 'names.csv';
"""
QUERIES = """
DEFINE { query_name plain; }
SELECT time, len, w.label, score WATCHLIST_JOIN FROM IP p, nets w WHERE p.srcIP = w.net;
DEFINE { query_name low; }
SELECT tb, sum(score) AS scores, count(*) AS packets WATCHLIST_JOIN FROM IP p, nets w
WHERE p.destIP = w.net AND score > 2 GROUP BY time/60 AS tb;
DEFINE { query_name high; }
SELECT tb, label, count(*) AS packets, max(len) AS longest WATCHLIST_JOIN FROM IPV4 p, nets w
WHERE w.net = p.srcIP GROUP BY time/60 AS tb, w.label HAVING count(*) > 1;
DEFINE { query_name two; }
SELECT time, srcPort, number WATCHLIST_JOIN FROM TCP p, services w
WHERE p.srcIP = w.net AND p.srcPort = w.port AND (w.number < 0 OR p.len > 60);
DEFINE { query_name texts; }
SELECT time, weight, good WATCHLIST_JOIN FROM PKT p, names w WHERE p.interface = w.interface
"""


@dataclass(frozen=True)
class Row:
    """A line of a list; what is looked up in it first."""

    net: ipaddress.IPv4Network | ipaddress.IPv6Network
    rest: tuple[int | str, ...]


def _longest(rows: Sequence[Row], address: object, *key: object) -> Row | None:
    """The row of the longest prefix; of two with the same keys the last."""
    found = ipaddress.ip_address(str(address))
    best: Row | None = None
    for row in rows:
        is_met = found in row.net and row.rest[: len(key)] == key
        if is_met and (best is None or row.net.prefixlen >= best.net.prefixlen):
            best = row
    return best


def _networks(chance: Random, addresses: Sequence[str], count: int) -> Iterator[str]:
    for _ in range(count):
        address = ipaddress.ip_address(chance.choice(addresses))
        length = chance.choice([0, 8, 20, 24, 30, 31, address.max_prefixlen])
        yield str(ipaddress.ip_network(f"{address}/{min(length, address.max_prefixlen)}", False))


def _plan(folder: Path, texts: str = QUERIES, lists: str = LISTS) -> Plan:
    definitions = folder / "lists.gsql"
    definitions.write_text(lists)
    files = (SourceFile("query", texts),)
    given = QueryTexts(files, definitions=(str(definitions),), opens_lists=True)
    return plan_queries(check_texts(given).queries)


def _capture(folder: Path, seed: int, count: int = 400) -> Path:
    path = folder / "some.pcap"
    found = packets_of(Mixture(seed=seed, packets=count, hosts=5))
    path.write_bytes(pcap(found, magic=NANOSECONDS))
    return path


def _csv(*rows: Sequence[object]) -> str:
    return "".join(",".join(map(str, row)) + "\n" for row in rows)


def _sorted(rows: Sequence[Sequence[object]]) -> list[list[str]]:
    return sorted([str(cell) for cell in row] for row in rows)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("burst", [1, 256])
def test_rows_are_those_of_plain_python(
    seed: int, burst: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    chance, path = Random(seed), _capture(tmp_path, seed)
    ip = list(packets("IP", path, ("srcIP", "destIP")))
    addresses = sorted({str(packet[name]) for packet in ip for name in ("srcIP", "destIP")})
    nets = [
        Row(ipaddress.ip_network(text), (f"label {at}", chance.randrange(6)))
        for at, text in enumerate(_networks(chance, addresses, 40))
    ]
    services = [
        Row(ipaddress.ip_network(text), (chance.choice([22, 53, 80, 443]), -5 + at))
        for at, text in enumerate(_networks(chance, addresses, 60))
    ]
    (tmp_path / "nets.csv").write_text(_csv(*((row.net, *row.rest) for row in nets)))
    (tmp_path / "services.csv").write_text(
        _csv(("number", "port", "net"), *((r.rest[1], r.rest[0], r.net) for r in services))
    )
    (tmp_path / "names.csv").write_text('"default",1.5,true\nother,2,0\n')
    given = run(_plan(tmp_path), [source(path)], Settings(burst=burst))
    assert {name: _sorted(rows) for name, rows in given.rows.items()} == {
        name: _sorted(rows) for name, rows in _expected(path, nets, services).items()
    }
    assert [item.refused for item in given.statistics.lists] == [0, 0, 0]


def _expected(
    path: Path, nets: Sequence[Row], services: Sequence[Row]
) -> dict[str, list[tuple[object, ...]]]:
    """The answers of QUERIES."""
    plain = []
    low: dict[int, list[int]] = {}
    high: dict[tuple[int, object], list[int]] = {}
    for packet in packets("IP", path, ("srcIP", "destIP", "time", "len")):
        row = _longest(nets, packet["srcIP"])
        if row is not None:
            plain.append((packet["time"], packet["len"], *row.rest))
        row = _longest(nets, packet["destIP"])
        if row is not None and int(row.rest[1]) > 2:
            low.setdefault(packet["time"] // 60, []).append(int(row.rest[1]))
    for packet in packets("IPV4", path, ("srcIP", "time", "len")):
        row = _longest(nets, packet["srcIP"])
        if row is not None:
            high.setdefault((packet["time"] // 60, row.rest[0]), []).append(packet["len"])
    two = []
    for packet in packets("TCP", path, ("srcIP", "srcPort", "time", "len")):
        row = _longest(services, packet["srcIP"], packet["srcPort"])
        if row is not None and (int(row.rest[1]) < 0 or packet["len"] > 60):
            two.append((packet["time"], packet["srcPort"], row.rest[1]))
    return {
        "plain": plain,
        "low": [(tb, sum(found), len(found)) for tb, found in low.items()],
        "high": [(*k, len(found), max(found)) for k, found in high.items() if len(found) > 1],
        "two": two,
        "texts": [(p["time"], 1.5, "true") for p in packets("PKT", path, ("time",))],
    }


# Lists that are wrong


NETS = Watchlist(
    "nets",
    "nets.csv",
    (
        ListColumn("net", Type.INET, True),
        ListColumn("label", Type.STRING),
        ListColumn("score", Type.UINT),
    ),
)
BAD_LINES = {
    "10.0.0.1/8,a,1": "the prefix has bits beyond its length",
    "10.0.0.0/33,a,1": "the length of a prefix is expected behind the /",
    "10.0.0.0/,a,1": "the length of a prefix is expected behind the /",
    "10.0.0.0/255.0.0.0,a,1": "the length of a prefix is expected behind the /",
    "fe80::1%eth0,a,1": "an address or a prefix is expected",
    "1.2.3,a,1": "an address or a prefix is expected",
    "010.0.0.1,a,1": "an address or a prefix is expected",
    "name,a,1": "an address or a prefix is expected",
    ",a,1": "a value of the column's type is expected",
    "1.2.3.4,a,1_0": "a uint is expected",
    "1.2.3.4,a,nan": "a uint is expected",
    "1.2.3.4,a,-1": "a uint is expected",
    "1.2.3.4,a,4294967296": "a uint is expected",
    "1.2.3.4,a,99999999999999999999999": "a uint is expected",
    "1.2.3.4,a": "it has too few columns",
    "1.2.3.4,a,1,": "it has too many columns",
    '1.2.3.4,"a,1': "a quotation mark is out of place",
    '1.2.3.4,a"b,1': "a quotation mark is out of place",
    '1.2.3.4,"a"b,1': "a quotation mark is out of place",
    '1.2.3.4,"a"",1': "a quotation mark is out of place",
    "1.2.3.4,a\0,1": "it has a zero byte",
    "1.2.3.4," + "a" * 70_000 + ",1": "it is too long",
}


def _read(watchlist: Watchlist = NETS) -> tuple[int, int, int, str]:
    found = read_list(watchlist)
    lib.gs_watchlist_free(found.native)
    return found.rows, found.refused, found.replaced, found.remark


@pytest.mark.parametrize("line", BAD_LINES, ids=range(len(BAD_LINES)))
def test_a_line_that_is_wrong_is_left_out_and_told(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("nets.csv").write_text(f"1.2.3.0/24,good,1\r\n\n{line}\n::1,good,2")
    assert _read() == (2, 1, 0, f"line 3: {BAD_LINES[line]}")


@pytest.mark.parametrize("mib", [1, 2, 3])
def test_a_line_of_megabytes_is_one_line(
    mib: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However it is read in pieces, none of them is a row."""
    monkeypatch.chdir(tmp_path)
    long = "a" * (mib << 20) + "9.9.9.9,bad,1"
    Path("nets.csv").write_text(f"{long}\n1.2.3.4,good,1\n1.2,wrong,1\n{long}\n::1,good,2\n{long}")
    assert _read() == (2, 4, 0, "line 1: it is too long")


def test_what_a_line_may_look_like(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("nets.csv").write_bytes(
        b'\xef\xbb\xbfNet , label,more, SCORE\r\n "1.2.3.4" ,"a ""b"", c",x,007 \r\n'
        b"1.2.3.4/32,,,4294967295\n::ffff:1.2.3.4,\xff\xfe,,0\n0.0.0.0/0,,,1\n::/0,,,1\n"
    )
    assert _read() == (3, 0, 2, "")


SIXES = """
WATCHLIST sixes { IPV6 net (key); } FROM 'sixes.csv';
"""


@pytest.mark.parametrize("net", ["::/0", "::/80", "::fffe:0:0/95", "::ffff:0:0/96", "::/97"])
def test_a_list_and_in_hold_the_same_of_ipv4_addresses_in_ipv6(
    net: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sixes.csv").write_text(f"{net}\n")
    sources = ["::ffff:1.2.3.4", "::1", "2001:db8::1", "::ffff:200.0.0.1"]
    Path("some.pcap").write_bytes(pcap([_from(each) for each in sources], magic=NANOSECONDS))
    texts = f"""
DEFINE {{ query_name listed; }}
SELECT packet_id, p.srcIP WATCHLIST_JOIN FROM IPV6 p, sixes w WHERE p.srcIP = w.net;
DEFINE {{ query_name written; }}
SELECT packet_id, srcIP FROM IPV6 WHERE srcIP IN IPV6_VAL'{net}'
"""
    given = run(_plan(tmp_path, texts, SIXES), [source(Path("some.pcap"))], Settings()).rows
    assert given["listed"] == given["written"]
    mapped = ipaddress.ip_network("::ffff:0:0/96")
    wanted = [
        number
        for number, address in enumerate(map(ipaddress.ip_address, sources))
        if address in ipaddress.ip_network(net)
        and (address not in mapped or ipaddress.ip_network(net).prefixlen >= mapped.prefixlen)
    ]
    assert [int(row[0]) for row in given["listed"]] == wanted


def _from(address: str) -> Packet:
    payload = frames.udp(1, 2, b"")
    ends = [ipaddress.IPv6Address(each).packed for each in (address, "2001:db8::2")]
    ip = frames.ipv6(*ends, frames.UDP, payload)
    return Packet(10**9, frames.ethernet(frames.ETHERTYPE_IPV6, ip))


def test_numbers_are_of_their_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    types = {
        Type.INT: ("-2147483648 2147483647 -0", "-2147483649 2147483648 - +1 0x1 1.0"),
        Type.LLONG: ("-9223372036854775808 9223372036854775807", "9223372036854775808"),
        Type.ULLONG: ("18446744073709551615", "18446744073709551616 -1"),
        Type.FLOAT: ("1 -1.5e300 .5 +1e-3", "1e400 nan inf 0x1p3 1e 1_0 --1"),
        Type.BOOL: ("true FALSE 1 0", "yes 2 t"),
        Type.USHORT: ("65535", "65536"),
        Type.IP: ("1.2.3.4", "::1 ::ffff:1.2.3.4 1.2.3.4/32 1.2.3"),
        Type.IPV6: ("::1", "1.2.3.4 ::1/128"),
    }
    columns = ListColumn("key", Type.STRING, True)
    for type_, (good, bad) in types.items():
        lines = [f"{value},{value}" for value in (good + " " + bad).split()]
        Path("nets.csv").write_text("\n".join(lines))
        watchlist = Watchlist("nets", "nets.csv", (columns, ListColumn("value", type_)))
        assert _read(watchlist)[:2] == (len(good.split()), len(bad.split())), type_


def test_what_is_no_list_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("nets.csv")
    with pytest.raises(ListError, match=r"nets\.csv: No such file"):
        read_list(NETS)
    path.mkdir()
    with pytest.raises(ListError, match="a list is a regular file"):
        read_list(NETS)
    path.rmdir()
    os.mkfifo(path)
    with pytest.raises(ListError, match="a list is a regular file"):
        read_list(NETS)
    path.unlink()
    path.symlink_to(path)
    with pytest.raises(ListError, match="symbolic links"):
        read_list(NETS)
    path.unlink()
    with path.open("wb") as stream:
        stream.truncate(2 << 30)
    with pytest.raises(ListError, match="has at most 1073741824 bytes"):
        read_list(NETS)


def test_a_list_takes_no_more_memory_than_it_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gigastream.engine.list_file.MOST_LIST_BYTES", MOST_LIST_BYTES // 256)
    Path("nets.csv").write_text("".join(f"::{at:x},{'x' * 60},1\n" for at in range(20_000)))
    with pytest.raises(ListError, match="more than 1048576 bytes of memory"):
        read_list(NETS)


def test_many_lengths_together_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    columns = tuple(ListColumn(name, Type.IP, True) for name in "ab")
    lengths = [(i, j) for i in range(33) for j in range(33)]
    Path("nets.csv").write_text("".join(f"0.0.0.0/{i},0.0.0.0/{j}\n" for i, j in lengths))
    with pytest.raises(ListError, match="more than 256 combinations of lengths"):
        read_list(Watchlist("nets", "nets.csv", columns))


def test_a_long_list_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks end amid lines, tables grow."""
    monkeypatch.chdir(tmp_path)
    count = 200_000
    Path("nets.csv").write_text("".join(f"{a}.{b}.{c}.0/24,x,{a}\n" for a, b, c in _three(count)))
    assert _read() == (count, 0, 0, "")


def _three(count: int) -> Iterator[tuple[int, int, int]]:
    return ((at >> 16, at >> 8 & 255, at & 255) for at in range(count))


# Parquet


def _parquet(path: str, **columns: pyarrow.Array) -> None:
    parquet.write_table(pyarrow.table(columns), path)


def test_a_parquet_file_is_a_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    nets = ["10.0.0.0/8", "10.0.0.1/8", "::1", None, "1.2.3.4", "1.2.3.5", "1.2.3.6"]
    labels = ["a", "b", 'c ", ', "d", None, "x\n9.9.9.9,evil,1\ny", ""]
    scores = pyarrow.array([1, 2, 3, 4, 5, 6, -7], pyarrow.int64())
    _parquet("nets.csv", more=scores, score=scores, net=nets, label=labels)
    assert _read() == (2, 5, 0, "row 2: the prefix has bits beyond its length")
    _parquet("nets.csv", net=nets, label=labels)
    with pytest.raises(ListError, match=r"nets\.csv: it has no column score"):
        read_list(NETS)


def test_a_damaged_parquet_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _parquet("good", net=["::1"] * 9, label=["a"] * 9, score=pyarrow.array([1] * 9))
    good, chance = Path("good").read_bytes(), Random(1)
    for _ in range(60):
        bad = bytearray(good)
        for at in chance.sample(range(4, len(bad)), 3):
            bad[at] = chance.randrange(256)
        Path("nets.csv").write_bytes(bad[: chance.choice([len(bad), len(bad) - 3])])
        with suppress(ListError):
            _read()


def test_a_word_in_many_rows_is_held_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file that would unpack to gigabytes; the list refuses what is more than it may be."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gigastream.engine.list_file.MOST_LIST_BYTES", 1 << 20)
    count = 60_000
    words = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * count), ["x" * 30_000])
    table = pyarrow.table(
        {"net": ["::1"] * count, "label": words, "score": pyarrow.array([1] * count)}
    )
    parquet.write_table(table, "nets.csv", compression="zstd")
    assert Path("nets.csv").stat().st_size < 20_000
    with pytest.raises(ListError, match="more than 1048576 bytes of memory"):
        read_list(NETS)


# Lists that change


class Pipe:
    """A pipe that packets are written into as they are wanted."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "pipe"
        os.mkfifo(self.path)
        self.packets = packets_of(Mixture(seed=3, packets=600, hosts=1, steps_back=0, cut=0))
        self.number = os.open(self.path, os.O_RDWR)

    def write(self, first: int, behind: int) -> None:
        """Some packets; the file's header before the first."""
        whole, before = (pcap(self.packets[:n], magic=NANOSECONDS) for n in (behind, first))
        os.write(self.number, whole[len(before) if first else 0 :])


TEXT = "SELECT time, label WATCHLIST_JOIN FROM PKT p, names w WHERE p.interface = w.interface"
CHANGING = "WATCHLIST names { string interface (key); string label; } FROM 'names.csv' EVERY 1 s;"


def _replace(text: str) -> None:
    Path("new").write_text(text)
    os.replace("new", "names.csv")


def test_a_list_that_changes_is_taken_between_packets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    _replace("default,one\n")
    pipe = Pipe(tmp_path)
    found: list[bytes] = []
    plan = _plan(tmp_path, TEXT, CHANGING)
    with Session(plan, [FileSource("default", str(pipe.path))], Settings(slack_ns=0)) as session:
        turns = session.turns()

        def turn() -> int:
            found.extend(e.batch.csv() for e in next(turns) if e.batch.row_count)
            return sum(text.count(b"\n") for text in found)

        def lists() -> tuple[int, int]:
            turn()
            (item,) = session.statistics().lists
            return item.reads, item.failures

        pipe.write(0, 200)
        wait_until(lambda: turn() == 200, "the packets")
        _replace("default,two\n")
        wait_until(lambda: lists() == (2, 0), "the list to be read again")
        pipe.write(200, 400)
        wait_until(lambda: turn() == 400, "the packets")
        os.unlink("names.csv")
        wait_until(lambda: lists()[1] > 1, "the list to be missed")
        told = capsys.readouterr().err  # once more is told, maybe, behind the folder
        os.mkdir("names.csv")
        pipe.write(400, 600)
        wait_until(lambda: turn() == 600, "the packets")
        os.rmdir("names.csv")
        _replace("default,three\n")
        wait_until(lambda: lists()[0] == 3, "the list to be there again")
        os.close(pipe.number)
        session.stop()
        for event in turns:
            found.extend(e.batch.csv() for e in event if e.batch.row_count)
    labels = [line.rpartition(b",")[2].decode() for line in b"".join(found).splitlines()]
    assert labels == ["one"] * 200 + ["two"] * 400
    assert told.count("No such file or directory; the list names stays as it was") == 1


def test_whatever_reading_a_list_raises_is_its_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Watchlist) -> ReadList:
        raise RecursionError("out of luck")

    monkeypatch.setattr(watchlists, "read_list", fail)
    results: SimpleQueue[ReadList | str] = SimpleQueue()
    watchlists._read(Watchlist("names", "names.csv", ()), results)
    assert results.get_nowait() == "names.csv: it cannot be read: RecursionError: out of luck"


def test_a_query_of_a_bare_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = _capture(tmp_path, 5)
    ports = {22: "ssh", 80: "web"}
    Path("ports.csv").write_text("port,what\n" + "".join(f"{p},{t}\n" for p, t in ports.items()))
    for named in ("'ports.csv'", "ports.csv"):
        text = "SELECT time, srcPort, what WATCHLIST_JOIN"
        text += f" FROM UDP p, {named} w WHERE srcPort = port"
        given: Given = run(_plan(tmp_path, text), [source(path)], Settings())
        expected = [
            (packet["time"], packet["srcPort"], ports[packet["srcPort"]])
            for packet in packets("UDP", path, ("time", "srcPort"))
            if packet["srcPort"] in ports
        ]
        assert _sorted(given.rows["query"]) == _sorted(expected)
