# SPDX-License-Identifier: Apache-2.0
"""STREAMs in a daemon's configuration, in its counters, and under sampling."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from gigastream.compiled import write_object
from gigastream.config import ConfigError
from gigastream.daemon.config import load_daemon_config
from gigastream.daemon.config_text import check_text, dump_text
from gigastream.daemon.daemon_config import StreamConfig
from gigastream.daemon.input_messages import PeerOrder, StreamSpec
from gigastream.daemon.messages import OrderDone
from gigastream.daemon.renewing import TooEarlyError
from gigastream.daemon.reports import ended_streams
from gigastream.daemon.running_set import is_read_again
from gigastream.daemon.stream_readers import StreamReaders
from gigastream.daemon.totals import Totals
from gigastream.engine.attached_set import AttachedSet
from gigastream.engine.engine import Engine
from gigastream.engine.statistics import END
from gigastream.gsql.catalog.build import load_catalog
from gigastream.plan import plan_queries
from gigastream.query_texts import QueryTexts, check_texts, inline_queries
from tests.daemon.capture import capturing, object_of, output_to, start_of
from tests.daemon.test_capture_process import FILES, FRAMES
from tests.daemon.test_totals import LINK, report
from tests.live.namespace import folder_for_all
from tests.records.asked import ALL, DEFINITIONS, row, source_of

FILED = replace(LINK, label="filed.csv", interface="STREAM filed", link=None, is_ended=True)


def configured(folder: Path, *lines: str) -> Path:
    """A configuration with one STREAM's table."""
    path = folder / "gigastream.toml"
    (folder / "own.gsql").write_text("STREAM hosts { uint at (increasing, clock s); }")
    path.write_text("\n".join(("definitions = ['own.gsql']", "[[stream]]", *lines)))
    return path


def test_a_place_is_a_path_or_a_port(tmp_path: Path) -> None:
    """A path is beside the file; a dump says the same."""
    path = configured(tmp_path, "name = 'hosts'", "place = 'in'", "format = 'json'")
    config = load_daemon_config(path)
    assert config.streams == (StreamConfig("hosts", f"{tmp_path}/in", "json"),)
    assert not config.is_finite
    assert "1 STREAM, 0 query sets" in check_text(str(path))
    path.write_text(dump_text(config))
    assert load_daemon_config(path) == config


@pytest.mark.parametrize(
    ("name", "place", "format_name", "message", "hint"),
    [
        ("host", "in", "csv", "there is no STREAM host", "did you mean hosts?"),
        ("hosts", "-", "csv", "a daemon has no stdin", "a folder"),
        ("hosts", "", "csv", "the place is empty", "a folder"),
        ("hosts", "in", "jsn", "jsn is no format", "did you mean json?"),
        ("hosts", "tcp://9000", "csv", "is no address to listen on", "tcp://127.0.0.1:9000"),
        ("hosts", "tcp://h:9", "parquet", "parquet is read from a file alone", "arrow"),
        ("FLOW", "udp://h:9", "csv", "csv does not come by datagrams", "tcp://"),
    ],
)
def test_what_is_wrong_with_one_is_told_with_its_line(
    tmp_path: Path, name: str, place: str, format_name: str, message: str, hint: str
) -> None:
    path = configured(
        tmp_path, f"name = '{name}'", f"place = '{place}'", f"format = '{format_name}'"
    )
    with pytest.raises(ConfigError) as caught:
        check_text(str(path))
    assert str(caught.value).startswith(f"{path}:2: ")
    assert message in str(caught.value)
    assert hint in str(caught.value.hint)


def test_counters_go_on_where_nothing_is_read_again() -> None:
    """Of ports, and of what is over; a file that is read from its beginning begins anew."""
    port = replace(FILED, label="tcp://127.0.0.1:9", is_ended=False)
    totals, going = Totals(), replace(FILED, is_ended=False)
    for incarnation in range(2):
        totals.take(report(incarnation, FILED, port, going))
    read = [source.read for source in totals.sources]
    assert read == [2 * FILED.read, 2 * port.read, going.read]


def test_a_stream_is_over_when_all_its_places_are() -> None:
    going = replace(FILED, label="other.csv", is_ended=False)
    assert ended_streams((FILED, LINK)) == {"STREAM filed": END}
    assert ended_streams((FILED, going)) == {}


def test_a_peer_whose_connection_did_not_come_is_not_taken() -> None:
    """As where there are more files than may be open: it is handed over once more."""
    layout = load_catalog([DEFINITIONS]).streams["events"].layout
    spec = StreamSpec(layout=layout, place="tcp://127.0.0.1:9000", has_peers=True)
    readers = StreamReaders((spec,), {})
    with pytest.raises(TooEarlyError, match="more files cannot be open"):
        readers.take(PeerOrder(number=1, stream=0, label="peer 127.0.0.1 port 9"), [])


def test_a_folder_is_read_again() -> None:
    """Its end is one in a spool, too, and what the run before listed of it is not there twice."""
    layout = load_catalog([DEFINITIONS]).streams["events"].layout
    folder = StreamSpec(layout=layout, place="/nowhere", is_folder=True)
    file = StreamSpec(layout=layout, place="/nowhere")
    port = StreamSpec(layout=layout, place="tcp://127.0.0.1:9000", has_peers=True)
    sources = StreamReaders((folder, file, port), {}).sources
    assert [is_read_again(source) for source in sources] == [True, True, False]


def test_records_are_not_sampled() -> None:
    """Under overload whole flows of links are left out, and no record says of how many it is."""
    source = source_of([row() for _ in range(100)])
    texts = QueryTexts((ALL,), definitions=(str(DEFINITIONS),), interfaces={source.interface: {}})
    plan = plan_queries(check_texts(texts).queries)
    with Engine() as engine, AttachedSet(plan) as queries:
        engine.add_files([source])
        engine.attach(queries)
        engine.start()
        engine.sample(10)
        rows = 0
        while engine.run(1 << 20, 10):
            rows += sum(event.batch.row_count for event in queries.taken())
        rows += sum(event.batch.row_count for event in queries.taken())
        (counted,) = engine.statistics()
    assert (rows, counted.sampled_out) == (100, 0)


def test_one_that_breaks_off_ends_alone() -> None:
    """What came before is answered; the account says why nothing more does."""
    text = ",".join(row()) + "\n" + (",".join(f'"{v}"' for v in row().values()) + "\n") * 5000
    layout = load_catalog([DEFINITIONS]).streams["events"].layout
    texts = QueryTexts(
        inline_queries(("SELECT name, small FROM events",)),
        definitions=(str(DEFINITIONS),),
        interfaces={"STREAM events": {}},
    )
    plan = plan_queries(check_texts(texts).queries)
    with folder_for_all() as folder:
        folder.chmod(0o777)
        broken = folder / "events.csv.gz"
        broken.write_bytes(gzip.compress(text.encode())[:-20])
        made = write_object(plan, texts, folder / "names.so")
        made.chmod(0o755)
        frames = object_of(folder, "frames", FRAMES, ["default"])
        spec = StreamSpec(layout=layout, place=str(broken))
        with capturing(start_of(folder, files=FILES, streams=(spec,))) as capture:
            objects = {"names": made, "frames": frames}
            orders = [
                capture.attach_order(name, path, output_to(folder / f"{name}.csv"))
                for name, path in objects.items()
            ]
            capture.order(*orders)
            over = capture.over()
            done = [said for said in capture.said if isinstance(said, OrderDone)]
        assert done == [OrderDone(number=order.number) for order in orders]
        assert over.error is None
        (_, records), (names, packets) = over.report.sources, over.report.sets
        assert records.is_ended
        assert "ends too early" in str(records.damage)
        assert names.rows["query"] == records.decoded > 0
        assert packets.failure is None
        assert (folder / "frames.csv").exists()
