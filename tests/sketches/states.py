# SPDX-License-Identifier: Apache-2.0
"""The sketches of csrc/abi, called from Python."""

from __future__ import annotations

import ctypes
import subprocess
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ABI = Path(__file__).resolve().parents[2] / "csrc" / "abi"
DRIVER = Path(__file__).with_name("driver.c")
U64, F64, PLACE = ctypes.c_uint64, ctypes.c_double, ctypes.c_void_p
_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "hll_size": (U64, ()),
    "hll_part_size": (U64, ()),
    "kll_size": (U64, ()),
    "frequent_size": (U64, ()),
    "hll_estimate": (F64, (PLACE,)),
    "hll_within": (ctypes.c_uint32, (U64, ctypes.c_uint32, F64)),
    "kll_quantile": (F64, (PLACE, F64)),
    "kll_within": (ctypes.c_uint32, (U64, ctypes.c_uint32, F64, F64)),
    "kll_bytes": (ctypes.c_uint32, (PLACE, PLACE)),
    "frequent_weight": (U64, (PLACE, U64)),
    "frequent_offset": (U64, (PLACE,)),
}


def load(folder: Path) -> ctypes.CDLL:
    """Compile the driver; what is undefined in C ends the process."""
    made = folder / "driver.so"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", f"-I{ABI}"]
    flags += ["-fsanitize=undefined", "-fno-sanitize-recover=all"]
    subprocess.run(["gcc", *flags, DRIVER, "-o", made, "-lm"], check=True)
    library = ctypes.CDLL(str(made))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class Sketch:
    """A state of one kind: `hll`, `kll`, `frequent`."""

    def __init__(self, library: ctypes.CDLL, kind: str) -> None:
        self._library, self._kind = library, kind
        self.memory = ctypes.create_string_buffer(getattr(library, f"{kind}_size")())
        self("init")

    def __call__(self, name: str, *arguments: Any) -> Any:
        return getattr(self._library, f"{self._kind}_{name}")(self.memory, *arguments)

    def add(self, values: Iterable[Any]) -> None:
        """Take values: doubles of KLL, else whole numbers."""
        held = array("d" if self._kind == "kll" else "Q", values)
        self("add", PLACE(held.buffer_info()[0]), U64(len(held)))

    def merge(self, other: Sketch) -> None:
        """Take what another has seen."""
        self("merge", other.memory)

    @property
    def is_valid(self) -> bool:
        """Whether its bytes are such a sketch."""
        return bool(self("is_valid"))
