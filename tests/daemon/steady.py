# SPDX-License-Identifier: Apache-2.0
"""A program: sends numbered packets into a link until SIGTERM, then says how many.

Its first line says that it has begun.

python -m tests.daemon.steady DEVICE
"""

from __future__ import annotations

import signal
import socket
import sys

from tests.live.numbers import PACE_PACKETS, PACE_S, numbered, send_one


def main(device: str) -> None:
    """Send."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    link.bind((device, 0))
    print("sends", flush=True)
    sent = 0
    while signal.sigtimedwait([signal.SIGTERM], PACE_S) is None:
        for _ in range(PACE_PACKETS):
            sent += send_one(link, numbered(sent))
    print(sent)


if __name__ == "__main__":
    main(sys.argv[1])
