# SPDX-License-Identifier: Apache-2.0
"""What a run knows of its interfaces: their properties, and whose time they tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gigastream.cli.errors import UsageError
from gigastream.config import Config
from gigastream.late_dataclass import replace
from gigastream.records.source import AnySource
from gigastream.settings import Settings
from gigastream.sources.live import LiveSource
from gigastream.timestamps import EXTERNAL, IN_ORDER, PROPERTY, parse_timestamps


def with_timestamps(sources: Sequence[AnySource], config: Config) -> list[AnySource]:
    """Return the sources with what a file says of whose time their packets have."""
    return [_with_timestamps(source, config) for source in sources]


def _with_timestamps(source: AnySource, config: Config) -> AnySource:
    said = config.interfaces.get(source.interface, {}).get(PROPERTY)
    if said is None:
        return source
    try:
        return replace(source, timestamps=parse_timestamps(said))
    except ValueError as error:
        raise UsageError(f"interface.{source.interface}: {PROPERTY}: {error}") from None


def properties_of(
    sources: Sequence[AnySource], config: Config, settings: Settings
) -> dict[str, dict[str, str]]:
    """Return the interfaces that are read, with their properties."""
    readers = Counter[str]()
    for source in sources:
        readers[source.interface] += _rings(source)
    found = {}
    for source in sources:
        kind = source.timestamps or settings.timestamps
        own = dict(config.interfaces.get(source.interface, {}))
        own.pop(IN_ORDER, None)  # it is so, and nobody can say it
        if kind != EXTERNAL:
            own[PROPERTY] = kind
        if kind != EXTERNAL and readers[source.interface] == 1:
            own[IN_ORDER] = "true"
        found[source.interface] = own
    return found


def _rings(source: AnySource) -> int:
    return source.settings.fanout if isinstance(source, LiveSource) else 1
