# SPDX-License-Identifier: Apache-2.0
"""Families of queries at random: pools of them, captures and settings for these, by a seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from gigastream.flush_policy import FLUSH_POLICIES
from gigastream.settings import Settings
from tests.answers import changing
from tests.answers.address_maker import AddressMaker
from tests.answers.divided_pools import divided
from tests.answers.fading_maker import FADING, FadingMaker
from tests.answers.function_maker import FunctionMaker
from tests.answers.layer_maker import LayerMaker
from tests.answers.links import Links, links_of
from tests.answers.mixture import Mixture, packets_of
from tests.answers.mutant_maker import MutantMaker
from tests.answers.passing_maker import FilterMaker
from tests.answers.query_maker import QueryMaker
from tests.answers.reference.queries import answers
from tests.answers.running_maker import RunningMaker
from tests.answers.sampling_maker import SamplingMaker
from tests.answers.spelling_maker import SpellingMaker
from tests.answers.test_random import (
    INTERFACES,
    Pool,
    accepted,
    check,
    check_on_every_path,
    is_accepted,
)
from tests.answers.udaf_maker import TRAFFIC, UdafMaker
from tests.answers.view_maker import ViewMaker, seen_packets
from tests.answers.watchlist_maker import WatchlistMaker, definitions, lists
from tests.strategies.files import NANOSECONDS, Packet, pcap

QUERIES = 40
LAYERS = ("merges", "windows", "joins", "rows", "layers")

Made = list[tuple[str, bytes]]


def _queries(family: str, chance: Random, count: int) -> list[str]:
    if family in LAYERS:
        return LayerMaker(chance, INTERFACES, (family,)).query_set(count)
    return MAKERS[family](chance, INTERFACES).query_set(count)


def captures_of(family: str, chance: Random) -> Made:
    """What the reference can answer in a second, with much in it that meets."""
    if family in LAYERS and chance.random() < 0.6:
        links = Links(
            seed=chance.randrange(1 << 32),
            conversations=chance.choice((1, 8, 16)),
            seconds=chance.choice((3, 30, 300)),
            delay_ms=chance.choice((1, 40, 2500)),
            answer_ms=chance.choice((2, 900)),
            hosts=chance.choice((1, 4)),
        )
        return list(zip(INTERFACES, map(_file, links_of(links)), strict=True))
    if family == "views":
        return [(interface, _file(seen_packets(chance))) for interface in INTERFACES]
    if family in ONE_EACH:
        return [(interface, _mixture(family, chance)) for interface in INTERFACES]
    chosen = chance.choices(INTERFACES, k=chance.choice((1, 2)))
    return [(interface, _mixture(family, chance)) for interface in chosen]


def _mixture(family: str, chance: Random) -> bytes:
    is_sparse = family in LAYERS
    mixture = Mixture(
        seed=chance.randrange(1 << 32),
        packets=chance.choice((1, 30, 60) if is_sparse else (1, 40, 200, 200)),
        hosts=chance.choice((1, 4, 40)),
        seconds=chance.choice((1, 20, 200) if is_sparse else (1, 60, 400)),
        steps_back=chance.choice((0.0, 0.1, 0.6)),
        back_ms=chance.choice((1, 900, 10_000 if is_sparse else 100_000)),
        cut=chance.choice((0.0, 0.2)),
    )
    return _file(packets_of(mixture))


def _file(packets: Sequence[Packet]) -> bytes:
    return pcap(packets, magic=NANOSECONDS)


def tuning_of(chance: Random) -> Settings:
    """Settings of a run."""
    return Settings(
        disorder_bytes=chance.choice((0, 100, 2_000, 16 << 20)),
        slack_ns=chance.choice((None, None, 0, 10**9, 30 * 10**9)),
        heartbeat_ns=chance.choice((0, 10**9, 7 * 10**9)),
        heartbeat_packets=chance.choice((0, 5, 1 << 17)),
        flush=chance.choice((None, *FLUSH_POLICIES)),
        slots=chance.choice((1, 2, 5, 64, None)),
        burst=chance.choice((1, 3, 64, 256)),
        batch_rows=chance.choice((1, 2, None)),
        use_mmap=chance.random() < 0.5,
        hash_key=(chance.randrange(1 << 64), chance.randrange(1 << 64)),
        share_groups=chance.random() < 0.7,
        fast_path=chance.random() < 0.7,
    )


def pool(family: str, chance: Random, folder: Path, count: int = QUERIES) -> Pool:
    """Queries of a family; what they need declared is written into the folder."""
    declared = folder / "declared.gsql"
    declared.write_text(definitions(folder))
    declarations = [str(declared), *DEFINED.get(family, ())]
    if family == "mutants":  # two of three are refused
        made = _queries(family, chance, 3 * count)
        made = [query for query in made if is_accepted(query, INTERFACES) and _is_known(query)]
    else:
        made = _queries(family, chance, count)
    return accepted(made, declarations)


def _is_known(query: str) -> bool:
    """Whether the reference knows all that is in it."""
    try:
        answers(query, [])
    except Exception:  # whatever it does not expect
        return False
    return True


def check_once(family: str, queries: Pool, chance: Random, folder: Path) -> None:
    """Raise AssertionError where the answers about other captures are not the reference's."""
    captures, tuning = captures_of(family, chance), tuning_of(chance)
    if family == "changing":
        changing.check(queries, captures, tuning, folder, chance)
        return
    listed = lists(chance, folder) if family == "watchlists" else None
    check(queries, captures, tuning, folder, listed)


def check_divided(family: str, queries: Pool, chance: Random, folder: Path) -> None:
    """The same of those of the queries that threads divide, over one capture by every path."""
    data, tuning = captures_of(family, chance)[0][1], tuning_of(chance)
    listed = lists(chance, folder) if family == "watchlists" else None
    for part in divided(queries.texts, queries.definitions).values():
        check_on_every_path(part, data, tuning, folder, listed)


MAKERS: dict[str, Callable[[Random, Sequence[str]], QueryMaker]] = {
    "addresses": AddressMaker,
    "changing": changing.ChangingMaker,
    "fading": FadingMaker,
    "filter_joins": FilterMaker,
    "functions": FunctionMaker,
    "mutants": MutantMaker,
    "packets": QueryMaker,
    "spellings": SpellingMaker,
    "udafs": UdafMaker,
    "views": ViewMaker,
    "watchlists": WatchlistMaker,
    "running": RunningMaker,
    "sampling": SamplingMaker,
}
DEFINED = {"fading": [str(FADING)], "udafs": [str(TRAFFIC)]}
"""Files of definitions."""
ONE_EACH = ("filter_joins", "sampling", *LAYERS)
"""Which of several captures of an interface comes first is no rule, and these ask it."""
FAMILIES = (*MAKERS, *LAYERS)
