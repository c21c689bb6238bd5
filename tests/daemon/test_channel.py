# SPDX-License-Identifier: Apache-2.0
"""A capture process's end of its channel where the daemon has very many rings."""

from __future__ import annotations

import fcntl
import os
import resource
import socket
from collections.abc import Iterator

import msgspec
import pytest

from gigastream.daemon.channel import OrderChannel
from gigastream.daemon.framing import LENGTH, FrameError, report_reader
from gigastream.daemon.messages import CaptureNote

HIGH = 1100
"""More than select() knows."""
LONG = 1 << 20


@pytest.fixture
def many() -> Iterator[None]:
    """So many descriptors may be open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard <= HIGH:
        pytest.skip(f"at most {hard} descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, HIGH + 1), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many")
def test_a_descriptor_of_a_high_number() -> None:
    """Is waited for, and what is said at last arrives."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        descriptor = fcntl.fcntl(theirs, fcntl.F_DUPFD_CLOEXEC, HIGH)
        channel = OrderChannel(descriptor)
        channel.wait(0)
        channel.say(CaptureNote(text="x" * LONG))
        channel.flush_all(0)  # more than the kernel takes before somebody reads
        reader, said = report_reader(), list[object]()
        while not said:
            said += reader.feed(ours.recv(LONG))
            channel.flush_all(0)
        os.close(descriptor)


NOT_TEXT = msgspec.msgpack.encode(CaptureNote(text="here")).replace(b"here", b"h\xffre")


@pytest.mark.parametrize("packed", [b"", b"\xc1", NOT_TEXT, b"\x91" * 100_000])
def test_what_is_no_message_is_a_broken_frame(packed: bytes) -> None:
    """Whatever a process that was taken over sends: its channel ends, not the supervisor."""
    with pytest.raises(FrameError):
        list(report_reader().feed(LENGTH.pack(len(packed)) + packed))
