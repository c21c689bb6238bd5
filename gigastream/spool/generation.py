# SPDX-License-Identifier: Apache-2.0
"""A generation: the runs of one stream on one interface, as long as the stream stays the same.

Its folder is made when there is something to put into it: a track that is silent has none.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from gigastream.late_dataclass import dataclass
from gigastream.spool import layout
from gigastream.spool.files import read_object, replace, sync


@dataclass(frozen=True, slots=True)
class Generation:
    """Which generation of which track; `identity` is that of its stream's description."""

    stream: str
    interface: str
    number: int
    set_number: int
    identity: str

    def folder(self, root: Path) -> Path:
        return root / layout.generation_path(self.stream, self.interface, self.number)

    def make(self, root: Path, *, durable: bool = True) -> None:
        """Make the folder, with its way from the root, if it is not there. Raises OSError."""
        folder = self.folder(root)
        if (folder / layout.GENERATION).exists():
            return
        for level in (folder.parent.parent.parent, folder.parent.parent, folder.parent, folder):
            level.mkdir(exist_ok=True)
        text = json.dumps(self._to_json()).encode()
        replace(folder / layout.GENERATION, text, durable=durable)
        while durable and folder != root:
            folder = folder.parent
            sync(folder)

    def _to_json(self) -> dict[str, Any]:
        return {
            "format": layout.FORMAT,
            "stream": self.stream,
            "interface": self.interface,
            "generation": self.number,
            "set": self.set_number,
            "hash": self.identity,
            "made_ns": time.time_ns(),
        }


def read_generation(folder: Path) -> Generation | None:
    """Return the generation of a folder for a writer, None if it cannot be read."""
    value = read_object(folder / layout.GENERATION)
    try:
        return None if value is None else parse_generation(value)
    except ValueError:
        return None


def parse_generation(value: dict[str, Any]) -> Generation:
    """Return what generation.json says. Raises ValueError."""
    layout.check_format(value)
    for name in ("stream", "interface"):
        if not layout.is_name(value.get(name)):
            raise ValueError(f"no {name}")
    for name in ("generation", "set"):
        if type(value.get(name)) is not int or not 0 < value[name] < 10**18:
            raise ValueError(f"no {name}")
    if not isinstance(value.get("hash"), str):
        raise ValueError("no hash")
    return Generation(
        value["stream"], value["interface"], value["generation"], value["set"], value["hash"]
    )
