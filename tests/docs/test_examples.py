# SPDX-License-Identifier: Apache-2.0
"""Every example of the documents is run over the demo's capture, and shows what it says."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from captures import DEMO_CAPTURE, ROOT
from docs.examples import Block, blocks, commands, in_pairs
from docs.shell import Screen, Shell
from docs.shown import matches

import gigastream

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXIT_CODE = "echo $?"


@pytest.fixture
def shell() -> Iterator[Shell]:
    """A shell in a folder that everybody may read: as root, the C compiler is somebody else."""
    with tempfile.TemporaryDirectory(prefix="gigastream-docs-") as folder:
        os.chmod(folder, 0o755)
        yield Shell(Path(folder))


def _name(document: Path) -> str:
    return str(document.relative_to(ROOT))


def _queries() -> list[object]:
    """Return the gsql blocks of all documents that are no files and show no rows."""
    return [
        pytest.param(block, id=f"{_name(document)}:{block.line}")
        for document in DOCUMENTS
        for block, behind in in_pairs(blocks(document))
        if (block.language, block.words, block.file_name) == ("gsql", "", None)
        and (behind is None or behind.language != "text")
    ]


def _answers(language: str) -> list[object]:
    """Return the blocks of a language that show what comes of them, and that."""
    return [
        pytest.param(block, behind, id=f"{_name(document)}:{block.line}")
        for document in DOCUMENTS
        for block, behind in in_pairs(blocks(document))
        if behind is not None and (block.language, behind.language) == (language, "text")
    ]


def test_there_are_examples() -> None:
    assert len(_queries()) > 5
    assert len(_answers("gsql")) > 10


@pytest.mark.parametrize("block", _queries())
def test_a_query_runs(block: Block) -> None:
    for _ in gigastream.run(block.text, str(DEMO_CAPTURE)):
        pass


@pytest.mark.parametrize(("block", "rows"), _answers("gsql"))
def test_a_query_gives_the_rows_that_are_shown(block: Block, rows: Block, shell: Shell) -> None:
    shell.write("question.gsql", block.text)
    screen = shell.run("gigastream run question.gsql -r demo/demo.pcap -q")
    assert screen.code == 0, screen.errors
    assert matches(rows.text.splitlines(), screen.out, any_order=True), "\n".join(screen.out)


@pytest.mark.parametrize(("block", "rows"), _answers("python"))
def test_a_program_prints_what_is_shown(block: Block, rows: Block, shell: Shell) -> None:
    shell.write("program.py", block.text)
    screen = shell.run(f"{shlex.quote(sys.executable)} -P program.py")
    assert screen.code == 0, screen.errors
    assert matches(rows.text.splitlines(), screen.out, any_order=False), "\n".join(screen.out)


@pytest.mark.long
@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_commands_show_what_is_shown(document: Path, shell: Shell) -> None:
    if document.stem == "spark":
        pytest.importorskip("pyspark")
    for block in blocks(document):
        if block.file_name:
            shell.write(block.file_name, block.text)
        elif block.language == "console":
            _follow(block, shell)


def _follow(block: Block, shell: Shell) -> None:
    """Run the commands of a block; one that fails is followed by `echo $?`."""
    asked = [*commands(block)]
    code = 0
    for command, behind in in_pairs(asked):
        if command.text == EXIT_CODE:
            assert command.shown == (str(code),), f"line {command.line}: exit code {code}"
            continue
        screen = shell.run(command.text)
        code = screen.code
        may_fail = behind is not None and behind.text == EXIT_CODE
        assert may_fail or code == 0, f"line {command.line}: {screen.errors}"
        _demand_shown(command.line, command.text, command.shown, screen)


def _demand_shown(line: int, text: str, shown: tuple[str, ...], screen: Screen) -> None:
    """What is shown is stdout, or stdout and then stderr; nothing shown claims nothing."""
    any_order = "gigastream run" in text
    both = [*screen.out, *screen.errors]
    if shown and not any(matches(shown, seen, any_order=any_order) for seen in (screen.out, both)):
        pytest.fail(f"line {line}: {text}\n" + "\n".join(both), pytrace=False)
