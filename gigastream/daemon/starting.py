# SPDX-License-Identifier: Apache-2.0
"""The start: what only root may do is done first, and once; then nobody is root any more."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from gigastream.daemon.audit import AuditLog
from gigastream.daemon.control import Allowed, listen
from gigastream.daemon.daemon_config import DaemonConfig, LinkConfig, parse_address
from gigastream.daemon.input_messages import LinkSpec
from gigastream.daemon.launcher import OfTables, start_launcher
from gigastream.daemon.launching import DaemonError, wait_for, wait_until_ready
from gigastream.daemon.loader_progress import PROGRESS
from gigastream.daemon.logs import DaemonLog
from gigastream.daemon.messages import StatusAnswer
from gigastream.daemon.notify import Notifier
from gigastream.daemon.opener import Opener, start_opener
from gigastream.daemon.places import owner_hint, places_of
from gigastream.daemon.streams import open_ports, stream_specs
from gigastream.daemon.supervisor import Inherited, Supervisor
from gigastream.daemon.tables_of_sets import tables_of
from gigastream.daemon.targets_of_sets import folders_of, output_paths
from gigastream.destination import make_folder
from gigastream.engine.live import open_packet_sockets
from gigastream.engine.privileges import (
    gain_no_privileges,
    give_up_privileges,
    user_to_become,
)
from gigastream.gsql.catalog.build import load_catalog
from gigastream.ownership import UntrustedError, check_folder
from gigastream.paths import cache_directory
from gigastream.sinks import SINKS
from gigastream.sources.files import SourceError

ROOTS_CACHE = Path("/var/cache/gigastream")
_OBJECTS = "sets"
_VARIABLES = ("PG", "AWS_", "AZURE_", "GOOGLE_", "SSL_CERT_")
_DEVICES = Path("/sys/class/net")
_LATE = ("concurrent.futures.thread", "encodings.idna", "gigastream.gsql.diagnostics", "tomllib")


_OF_STREAMS = ("gigastream.records.csv_rows", "gigastream.records.json_rows")


def run_daemon(config: DaemonConfig, read_again: Callable[[], DaemonConfig] | None) -> int:
    """Run it to its end; the exit code. DaemonError, SourceError, UntrustedError, OSError."""
    opener = start_opener(config.user) if _needs_opener(config) else None
    try:
        return _run_daemon(config, read_again, opener)
    finally:
        if opener is not None:
            opener.end()


def _needs_opener(config: DaemonConfig) -> bool:
    """A link of one ring is bound again without."""
    return config.reopens_links and any(link.settings.fanout > 1 for link in config.links)


def _run_daemon(
    config: DaemonConfig,
    read_again: Callable[[], DaemonConfig] | None,
    opener: Opener | None,
) -> int:
    started_by = int(os.environ.get("SUDO_UID", "")) if _is_by_sudo() else os.getuid()
    notifier, log = Notifier(), DaemonLog(config.log_format)
    metrics = _metrics(config)
    audit = AuditLog(config.state)
    links = tuple(
        LinkSpec(
            interface=link.interface,
            device=link.device,
            sockets=_packet_sockets(link),
            settings=link.settings,
            is_renewed=opener is not None and link.settings.fanout > 1,
        )
        for link in config.links
    )
    ports = open_ports(config.streams)
    of_tables = _of_tables(config)
    folders = folders_of(config.folders, config.query_sets)
    cache = config.cache or (ROOTS_CACHE if os.geteuid() == 0 else cache_directory() / "daemon")
    outputs = [path for spec in config.query_sets for path in output_paths(spec)]
    places = places_of(
        config, cache, outputs, folders[len(config.folders) :], of_tables is not None
    )
    _make_folders(config, (cache, *folders))
    allowed = Allowed(config.user, started_by, config.socket_group)
    listening = listen(config.socket, started_by, allowed.gid, user_to_become(config.user))
    gain_no_privileges(config.user)
    if user_to_become(config.user) is None:
        give_up_privileges(config.user)  # before a library makes threads that would keep theirs
    close = [listening.fileno(), *([] if opener is None else [opener.channel.fileno()])]
    listens = [port.fileno() for port in ports.values() if port.type == socket.SOCK_STREAM]
    launcher, channel = start_launcher(config.user, cache, folders, [*close, *listens])
    loading, loaders = None, None
    if of_tables is not None:
        close += [channel.fileno(), *(each for link in links for each in link.sockets)]
        close += [port.fileno() for port in ports.values()]
        loading, loaders = start_launcher(config.user, cache, folders, close, of_tables)
    try:
        _load_own(config)
        give_up_privileges(config.user)
        streams = stream_specs(config, ports)
        for each in filter(None, (channel, loaders)):
            wait_until_ready(each)
        check_folder(cache, "cache names a folder that only the daemon's user can write")
        objects = cache / _OBJECTS
        for own in (objects, cache / PROGRESS):
            own.mkdir(mode=0o700, exist_ok=True)
        inherited = Inherited(
            config=config,
            links=links,
            streams=streams,
            ports=ports,
            folders=folders,
            places=places,
            listening=listening,
            launcher=channel,
            loaders=loaders,
            opener=opener,
            objects=objects,
            audit=audit,
            notifier=notifier,
            allowed=allowed,
            started_by=started_by,
            log=log,
            read_again=read_again,
            metrics=metrics,
        )
        return asyncio.run(_supervise(inherited))
    finally:
        for each in filter(None, (channel, loaders)):
            each.close()
        for pid in filter(None, (launcher, loading)):
            wait_for(pid)


def _packet_sockets(link: LinkConfig) -> tuple[int, ...]:
    """Open a link's. A link that is not there may come, unlike what is wrong: another exit code."""
    try:
        return open_packet_sockets(link.device, link.settings)
    except SourceError as error:
        if (_DEVICES / link.device).exists():
            raise
        hint = error.hint or "`ip link` lists those that are there"
        raise DaemonError(str(error), hint) from None


async def _supervise(inherited: Inherited) -> int:
    return await Supervisor(inherited).run()


def _of_tables(config: DaemonConfig) -> OfTables | None:
    """What loaders need; None: no table is filled. DaemonError.

    By variables they are told passwords above all, which stand nowhere else.
    """
    kinds = {place.sink for spec in config.query_sets for place in tables_of(spec)}
    if config.tables:
        kinds.update(SINKS)
    if not kinds:
        return None
    names = (name for name in os.environ if name.startswith(_VARIABLES))
    return OfTables(environment={n: os.environ[n] for n in names}, kinds=tuple(sorted(kinds)))


def _is_by_sudo() -> bool:
    return os.getuid() == 0 and os.environ.get("SUDO_UID", "").isdecimal()


def _load_own(config: DaemonConfig) -> None:
    """What this process imports and reads late, while it can read it."""
    for name in _LATE:
        import_module(name)
    if config.streams:
        for name in _OF_STREAMS:
            import_module(name)
        load_catalog()  # what ships, which is kept


def _make_folders(config: DaemonConfig, folders: tuple[Path, ...]) -> None:
    """Make the folders that are not there, for who will write them. DaemonError."""
    user = user_to_become(config.user)
    for folder in folders:
        _make(folder, user)
        if user is not None and not _may_write(folder, user):
            raise DaemonError(
                f"{folder} cannot be written by {config.user}, whom root becomes",
                owner_hint(folder, config.user),
            )


def _make(folder: Path, user: tuple[int, int] | None) -> None:
    try:
        if user is None:
            folder.mkdir(parents=True, exist_ok=True, mode=0o755)
        else:
            make_folder(folder, *user)
    except UntrustedError as error:
        raise DaemonError(f"{folder}: {error}", error.hint) from None
    except OSError as error:
        raise DaemonError(f"{folder}: {error.strerror}") from None


def _may_write(folder: Path, user: tuple[int, int]) -> bool:
    """By owner, group and mode; who has it otherwise (an ACL) is refused, and told what to do."""
    found = folder.stat()
    if found.st_uid == user[0]:
        return bool(found.st_mode & 0o300 == 0o300)
    if found.st_gid == user[1]:
        return bool(found.st_mode & 0o030 == 0o030)
    return bool(found.st_mode & 0o003 == 0o003)


def _metrics(
    config: DaemonConfig,
) -> Callable[[Callable[[], StatusAnswer]], Callable[[], None]] | None:
    if config.metrics is None:
        return None
    try:
        host, port = parse_address(config.metrics)
    except ValueError as error:
        raise DaemonError(f"metrics: {error}", "127.0.0.1:9464") from None
    from gigastream.daemon.metrics import serve_metrics

    def serve(status: Callable[[], StatusAnswer]) -> Callable[[], None]:
        try:
            return serve_metrics(status, host, port)
        except OSError as error:
            message = f"metrics at {config.metrics}: {error.strerror or error}"
            raise DaemonError(message, "an address of this host, with a free port") from None

    return serve
