# SPDX-License-Identifier: Apache-2.0
"""Files in Python whose functions sets call: whose they are, what is called, whether it is new.

The administrator's configuration names them, as it names other definition files. None is run by who
reads packets, nor by who answers other sets: a set that calls them has its high level in the
loaders of its tables alone, which are run by the daemon's user, one process for each.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gigastream.daemon.launching import DaemonError
from gigastream.engine.privileges import user_to_become
from gigastream.gsql.catalog.build import code_hash, is_python
from gigastream.gsql.diagnostics import Diagnostic, GsqlError
from gigastream.gsql.expressions import PythonCall, PythonRow
from gigastream.gsql.python_code import PythonCode
from gigastream.gsql.source import read_text
from gigastream.ownership import check_code
from gigastream.sources.files import SourceError

if TYPE_CHECKING:
    from gigastream.daemon.messages import QuerySetSpec
    from gigastream.plan import Plan

Code = Mapping[str, str]
"""By file, what stands for its text."""


def check_owners(files: Iterable[str], user: str) -> None:
    """Refuse files in Python that others than root and the daemon's user can write.

    UntrustedError, OSError.
    """
    try:
        becomes = user_to_become(user)
    except SourceError:
        return  # there is no such user, or it is root: who reads or begins with it says so
    owner = os.geteuid() if becomes is None else becomes[0]
    for file in filter(is_python, files):
        check_code(Path(file), owner)


def called_code(plan: Plan) -> dict[str, str]:
    """The files that a plan calls functions of, as it has them.

    UntrustedError, OSError, and DaemonError where one is another by now.
    """
    codes = {call.code.file: call.code for call in _calls(plan)}
    return {file: _hash(code) for file, code in codes.items()}


def _hash(code: PythonCode) -> str:
    """Of another text than the plan's no reload would find that it has changed."""
    file = check_code(Path(code.file))
    found = code_hash(file)
    if read_text(file) != code.text:
        raise DaemonError(f"{code.file} was changed while it was read", "the same once more")
    return found


def has_changed(code: Code) -> bool:
    """Whether a file is another by now, or cannot be read: who compiles it anew says why."""
    try:
        return any(code_hash(file) != known for file, known in code.items())
    except OSError:
        return True


def refuse_at_work(plan: Plan, spec: QuerySetSpec) -> None:
    """Raise GsqlError where the capture process would call functions in Python."""
    if spec.low_level_only:
        return
    found = [
        Diagnostic(
            "error",
            "python-in-capture",
            f"{call.name} is in Python, and where packets are read it would stop other sets",
            call.span,
            'low-level-only, output = ["spool:/FOLDER", "duckdb:/FILE"]: the table\'s loader, a '
            "process of its own, runs it",
        )
        for call in {call.name: call for call in _calls(plan)}.values()
        if not isinstance(call, PythonRow)  # beside which the aggregate is called, too
    ]
    if found:
        raise GsqlError(found)


def _calls(plan: Plan) -> Iterator[PythonCall]:
    return (call for node in plan.nodes for call in node.host_calls)
