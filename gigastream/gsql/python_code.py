# SPDX-License-Identifier: Apache-2.0
"""Where a function in Python is: in the text of a file, or in this process already."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any

from gigastream.late_dataclass import dataclass, field

PYTHON_SUFFIX = ".py"
"""How definition files in Python are named."""


@dataclass(frozen=True, slots=True)
class PythonCode:
    """The text of the file that has it, or the function itself."""

    file: str
    """What messages call it."""
    text: str = field(default="", repr=False)
    made: Callable[..., Any] | None = None
    module: str = field(init=False, repr=False, compare=False)
    """What its module is called, once it has run: of each text and place another."""

    def __post_init__(self) -> None:
        """Name the module here, and not for each group that is asked for a value."""
        told = sha256(f"{self.text}\0{self.file}".encode(errors="replace"))
        object.__setattr__(self, "module", f"gigastream_python_{told.hexdigest()[:16]}")
