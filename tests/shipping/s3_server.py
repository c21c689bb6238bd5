# SPDX-License-Identifier: Apache-2.0
"""A server that speaks S3, as a process on the loopback (moto's)."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from pyarrow import fs
from serving.servers import free_port

from tests.waiting import wait_until

SECRET = "sesame-of-the-tests"
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "AKIATESTS",
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_EC2_METADATA_DISABLED": "true",
}
BUCKET = "spools"


@dataclass
class S3Server:
    """One at one port, with a bucket."""

    folder: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        with (self.folder / "s3.log").open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)],
                stdout=log,
                stderr=log,
                env={**os.environ, **CREDENTIALS},
            )
        wait_until(self._answers, "the S3 server")
        self.files.create_dir(BUCKET)

    def uri(self, name: str) -> str:
        """Where a spool of a test is shipped to."""
        return f"s3://{BUCKET}/{name}?region=us-east-1&scheme=http&endpoint_override={self.host}"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def files(self) -> fs.S3FileSystem:
        return fs.S3FileSystem(
            access_key=CREDENTIALS["AWS_ACCESS_KEY_ID"],
            secret_key=SECRET,
            region="us-east-1",
            scheme="http",
            endpoint_override=self.host,
            allow_bucket_creation=True,
        )

    def names(self, folder: str) -> list[str]:
        """The names of the objects under a folder of the bucket."""
        found = self.files.get_file_info(fs.FileSelector(f"{BUCKET}/{folder}", recursive=True))
        return sorted(info.path for info in found if info.type == fs.FileType.File)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """It answers nobody."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        if self.process is not None:
            with suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()

    def _answers(self) -> bool:
        with socket.socket() as trial:
            return trial.connect_ex(("127.0.0.1", self.port)) == 0
