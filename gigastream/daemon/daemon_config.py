# SPDX-License-Identifier: Apache-2.0
"""What a daemon is told before it runs, from a file (config.py) or from its command line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from gigastream.daemon.messages import OverloadSettings, QuerySetSpec
from gigastream.gsql.stream_names import stream_interface
from gigastream.late_dataclass import dataclass, field
from gigastream.paths import CONTROL_SOCKET
from gigastream.settings import Settings
from gigastream.sources.live import LiveSettings
from gigastream.timestamps import EXTERNAL, IN_ORDER, PROPERTY

LogFormat = Literal["lines", "json"]
_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\s]+):([0-9]{1,5})")
_GREATEST_PORT = (1 << 16) - 1


def parse_address(text: str) -> tuple[str, int]:
    """HOST:PORT, apart; of [::1]:PORT without the brackets. ValueError."""
    found = _ADDRESS.fullmatch(text)
    if found is None or int(found[2]) > _GREATEST_PORT or not _can_be_looked_up(found[1]):
        raise ValueError(f"'{text}' is no HOST:PORT")
    return found[1].strip("[]"), int(found[2])


def _can_be_looked_up(host: str) -> bool:
    """Whether a name has the form of one: what asks for it raises no OSError where it has not."""
    try:
        host.encode("idna")
    except UnicodeError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class LinkConfig:
    """A link that is captured."""

    interface: str
    """By which queries name it."""
    device: str
    settings: LiveSettings = field(default_factory=LiveSettings)
    properties: Mapping[str, str] = field(default_factory=dict)
    """For interface sets."""


@dataclass(frozen=True, slots=True)
class FileConfig:
    """A file or a pipe that is read."""

    interface: str
    path: str
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StreamConfig:
    """A place of a STREAM's records."""

    name: str
    """Of the STREAM, as it is declared."""
    place: str
    """A file, a pipe, a folder, tcp://HOST:PORT, udp://HOST:PORT."""
    format: str | None = None
    """One of gigastream.records.formats; None: what its name or content says."""


@dataclass(frozen=True, slots=True)
class DaemonConfig:
    """All of it; paths are absolute."""

    links: tuple[LinkConfig, ...] = ()
    files: tuple[FileConfig, ...] = ()
    streams: tuple[StreamConfig, ...] = ()
    settings: Settings = field(default_factory=Settings)
    socket: Path = CONTROL_SOCKET
    """Of control."""
    user: str = "nobody"
    """Whom root becomes."""
    socket_group: str | None = None
    """Whose members may ask, too; None: root, the daemon's user and who started it."""
    cache: Path | None = None
    """Where compiled sets lie, that others cannot write; None: this user's own."""
    folders: tuple[Path, ...] = ()
    """Below which outputs may be written, besides those of the sets given here."""
    state: Path | None = None
    """Of the audit log; None: there is none."""
    tables: bool = False
    """Whether sets that come later may have tables; those given here may."""
    definitions: tuple[str, ...] = ()
    library: str | None = None
    overload: OverloadSettings = field(default_factory=OverloadSettings)
    query_sets: tuple[QuerySetSpec, ...] = ()
    metrics: str | None = None
    """HOST:PORT where metrics are asked for; None: nowhere."""
    watchdog_s: float = 30.0
    """After which a capture process that says nothing is restarted."""
    log_format: LogFormat = "lines"
    reopens_links: bool = False
    """A process keeps CAP_NET_RAW, which opens links anew that were removed."""
    is_strict: bool = False
    """A set of the configuration that fails ends the daemon."""

    @property
    def properties(self) -> dict[str, dict[str, str]]:
        """Of all interfaces, by name, as interface sets and the front end know them."""
        readers = Counter[str]()
        found: dict[str, dict[str, str]] = {}
        for link in self.links:
            readers[link.interface] += link.settings.fanout
            found[link.interface] = dict(link.properties)
        for file in self.files:
            readers[file.interface] += 1
            found[file.interface] = dict(file.properties)
        kind = self.settings.timestamps
        for name, own in found.items():
            own.pop(IN_ORDER, None)  # it is so, and nobody can say it
            if kind != EXTERNAL:
                own[PROPERTY] = kind
                own.update({IN_ORDER: "true"} if readers[name] == 1 else {})
        return {**found, **{stream_interface(stream.name): {} for stream in self.streams}}

    @property
    def is_finite(self) -> bool:
        """All that is read has an end, as files have."""
        return not self.links and not self.streams
