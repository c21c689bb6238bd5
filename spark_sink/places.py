# SPDX-License-Identifier: Apache-2.0
"""The spools of a query: what is written into each now, looked for again when a run begins."""

from __future__ import annotations

import time
from collections.abc import Iterator
from urllib.parse import urlsplit

from gigastream.spool import NO_ACCESS, Access, Spool, SpoolAwayError, layout
from spark_sink.errors import HostAwayError, SpoolSourceError
from spark_sink.options import SourceOptions
from spark_sink.tracks import Chain, chains, only_stream, open_spool

LOOK_PERIOD_S = 0.5
"""Spark asks what is new a hundred times a second; folders are looked through less often."""


class Places:
    """Spools by path, and the keys of their tracks.

    Of several spools a key has the spool's identity, which is the same wherever it lies: a path may
    change, and a URI may hold what must not stand in a checkpoint.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._spools: dict[str, Spool] = {}
        self._names: dict[str, str] = {}
        self._paths: dict[str, str] = {}
        """By name."""
        self._stamps: dict[str, tuple[int, ...] | None] = {}
        self._due_s = 0.0
        self.told: set[str] = set()

    def look_at_once(self) -> None:
        """Do not wait for the period."""
        self._due_s = 0.0

    def look(self) -> Iterator[tuple[str, dict[str, Chain]]]:
        """By path of a spool in which a run has begun, the tracks by key.

        Of a generation that the options name there is no other.
        """
        if time.monotonic() < self._due_s:
            return
        self._due_s = time.monotonic() + LOOK_PERIOD_S
        for path in self._options.paths:
            found = self._looked(path)
            if found is not None:
                yield path, found

    def _looked(self, path: str) -> dict[str, Chain] | None:
        """The tracks, where something has begun; a host that is away has not said so."""
        is_known = path in self._spools
        try:
            if is_known and not self._has_changed(path):
                return None
            self._open(path)
            return self._chains(path)
        except (HostAwayError, SpoolAwayError) as away:
            if not is_known:
                raise HostAwayError(str(away), away.hint, exit_code=1) from None
            self._stamps[path] = None  # it is looked at again
            return None

    def _has_changed(self, path: str) -> bool:
        stamp = self._spools[path].stamp()
        return stamp is None or stamp != self._stamps[path]

    def _opened(self, path: str) -> Spool:
        return open_spool(path, self._options.generation, self._options.access)

    def _open(self, path: str) -> None:
        spool = self._opened(path)
        self._stamps[path] = spool.stamp()
        self._spools[path] = spool
        name = self._names.setdefault(path, _name(spool))
        other = self._paths.setdefault(name, path)
        if other != path:
            raise SpoolSourceError(
                f"{path} is the spool {other}, or a copy of it", "give each spool once"
            )

    def _chains(self, path: str) -> dict[str, Chain]:
        options, spool = self._options, self._spools[path]
        found = chains(spool, options.stream, options.interfaces)
        return {self.key(path, chain.newest.interface): chain for chain in found}

    def key(self, path: str, interface: str) -> str:
        """What stands for an interface of a spool in offsets."""
        if len(self._options.paths) == 1:
            return interface
        if path not in self._names:
            self._open(path)
        return f"{self._names[path]}/{layout.quoted(interface)}"

    def name(self, path: str) -> str:
        """What a spool is called in checkpoints."""
        return self._names[path]

    def place(self, key: str) -> tuple[str, str]:
        """The path and interface that a key is made of. Raises SourceError."""
        if len(self._options.paths) == 1:
            return self._options.paths[0], key
        name, component = key.rsplit("/", 1)
        for path in self._options.paths if name not in self._paths else ():
            self.key(path, "")  # which makes its name known
        if name in self._paths:
            return self._paths[name], layout.unquoted(component)
        raise SpoolSourceError(
            f"the checkpoint has read the spool {name}, which is none of those that are given",
            "give the spools that it was begun with, wherever they lie now",
            exit_code=1,
        )

    def is_written(self, key: str) -> bool | None:
        """Whether a run writes a track's spool; None where that cannot be told."""
        spool = self._spools.get(self.place(key)[0])
        return None if spool is None else spool.has_writer()

    def expected_keys(self) -> list[str]:
        """The interfaces that are waited for, in each spool."""
        interfaces = self._options.interfaces or ()
        return [self.key(path, name) for path in self._options.paths for name in interfaces]

    def only_stream(self, path: str) -> str:
        """The stream of a spool that holds one."""
        return only_stream(self._spools.get(path) or self._opened(path))

    def why_gone(self, path: str, stream: str | None) -> SpoolSourceError | None:
        """Why nothing more comes of a spool that is written for other queries now."""
        spool = self._spools.get(path)
        if spool is None or stream is None or spool.tracks(stream):
            return None
        return SpoolSourceError(
            f"{path} is written for other queries now, and has no stream {stream} any more",
            "begin again with a new checkpoint, and a query that it can answer",
            exit_code=1,
        )


def spool_name(path: str, access: Access = NO_ACCESS) -> str:
    """What a spool is called in checkpoints. Raises SourceError."""
    return _name(open_spool(path, access=access))


def _name(spool: Spool) -> str:
    """One of an earlier version has no identity until it is written again."""
    return spool.identity or without_credentials(spool.path)


def without_credentials(path: str) -> str:
    """A path or URI without the user, the password and the parameters that it may hold."""
    if "://" not in path:
        return path
    parts = urlsplit(path)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}"
