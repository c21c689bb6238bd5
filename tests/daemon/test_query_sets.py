# SPDX-License-Identifier: Apache-2.0
"""Sets that are added, changed and reloaded at one time, and processes that refuse."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gigastream.daemon.compiling import CompileResult
from gigastream.daemon.launching import DaemonError
from gigastream.daemon.messages import (
    AttachOrder,
    CheckAnswer,
    DetachOrder,
    OrderDone,
    QuerySetSpec,
)
from gigastream.daemon.places import OutputPlaces
from gigastream.daemon.query_sets import QuerySets
from gigastream.gsql.catalog.build import code_hash

PLACES = OutputPlaces((Path("/out"),))


class Attaching:
    """A keeper whose capture process has sets, and refuses some orders."""

    def __init__(self) -> None:
        self.is_heard = True
        self.link = None
        self.ended_at_once = 0
        self.refused: set[tuple[type, str]] = set()
        self.sets: set[str] = set()
        self._numbers = 0

    def next_number(self) -> int:
        """Of an order."""
        self._numbers += 1
        return self._numbers

    async def order(self, order: AttachOrder | DetachOrder) -> OrderDone:
        """Do it, or not."""
        await asyncio.sleep(0)
        if (type(order), order.name) in self.refused:
            return OrderDone(number=order.number, error="no")
        if isinstance(order, AttachOrder):
            self.sets.add(order.name)
        else:
            self.sets.discard(order.name)
        return OrderDone(number=order.number)


class Compiling:
    """Compiles what it is let."""

    def __init__(self) -> None:
        self.is_open = asyncio.Event()
        self.is_open.set()

    async def compile(self, spec: QuerySetSpec) -> CompileResult:
        """Any text is right."""
        await self.is_open.wait()
        return CompileResult(check=CheckAnswer(ok=True), object_path=f"/{spec.name}.so")


class Played:
    """The sets, what they ask, and what they tell."""

    def __init__(self) -> None:
        self.keeper, self.compiler, self.told = Attaching(), Compiling(), list[str]()
        parts: Any = (self.keeper, self.compiler)
        self.sets = QuerySets(*parts, PLACES, self.told.append)  # type: ignore[arg-type]


def play(script: Any) -> None:
    """Run it."""

    async def run() -> None:
        async with asyncio.timeout(60):
            await script(Played())

    asyncio.run(run())


def spec(name: str, path: str, text: str = "") -> QuerySetSpec:
    """A set with one output."""
    return QuerySetSpec(name=name, text=text, outputs=(f"csv:/out/{path}",))


def test_two_sets_of_a_start_with_one_output_or_name() -> None:
    """The first has it; the other is left out, or ends the start."""

    async def script(played: Played) -> None:
        specs = [spec("a", "1"), spec("b", "1"), spec("a", "2"), spec("c", "3")]
        await played.sets.prepare(specs, 0, strict=False)
        assert list(played.sets.states) == ["a", "c"]
        assert played.sets.states["a"].spec == specs[0]
        assert "the set b is left out: b: /out/1 is an output of a" in played.told[0]
        assert "the set a is left out: there is a set called a" in played.told[1]

    async def strict(played: Played) -> None:
        with pytest.raises(DaemonError, match="/out/1 is an output of a"):
            await played.sets.prepare([spec("a", "1"), spec("b", "1")], 0, strict=True)

    play(script)
    play(strict)


@pytest.mark.parametrize("heirs", [False, True])
def test_an_output_that_is_taken_while_a_change_is_compiled(heirs: bool) -> None:
    """Belongs to who came first, and the change is refused."""

    async def script(played: Played) -> None:
        sets = played.sets
        await sets.add(spec("a", "1"), 0, from_config=True)
        played.compiler.is_open.clear()
        wanted = QuerySetSpec(name="b" if heirs else "a", text="", outputs=("csv:/out/2",))
        if heirs:
            wanted = QuerySetSpec(name="b", text="", outputs=("csv:/out/1", "csv:/out/2"))
        reload = asyncio.create_task(sets.reload([wanted], 0))
        await asyncio.sleep(0)
        added = asyncio.create_task(sets.add(spec("c", "2"), 0))
        async with sets._change:  # whose turn comes first
            played.compiler.is_open.set()
            await asyncio.sleep(0)
            sets._held["c"], _ = await sets._compiled(spec("c", "2"), 0, from_config=False)
        _, (failed,) = await reload
        assert "/out/2 is an output of c" in str(failed)
        assert sets.states["a"].spec == spec("a", "1")
        with pytest.raises(DaemonError, match="there is a set called c"):
            await added

    play(script)


def test_what_clients_change_while_a_reload_compiles_stays(tmp_path: Path) -> None:
    """Their sets are compiled anew for another text of functions in Python as they are by then."""
    file = tmp_path / "own.py"

    async def script(played: Played) -> None:
        sets, changed = played.sets, spec("b", "2", "another")

        async def compiled(asked: QuerySetSpec) -> CompileResult:
            if asked.text == "new":
                await sets.replace(changed, 7)
                await sets.drop("c")
            python = {str(file): code_hash(file)}
            return CompileResult(check=CheckAnswer(ok=True), python=python)

        played.compiler.compile = compiled  # type: ignore[assignment]
        file.write_text("")
        for name, path in ("a1", "b2", "c3", "d4"):
            await sets.add(spec(name, path), 7, from_config=name == "a")
        file.write_text("# another")
        assert await sets.reload([spec("a", "1", "new")], 0) == (["changed a", "changed d"], [])
        assert sets.states["b"].spec == changed
        assert list(sets.states) == ["a", "b", "d"]

    play(script)


def test_sets_that_do_not_all_make_place() -> None:
    """Those that have gone are back; one that cannot come back is left out, and told."""

    async def script(played: Played) -> None:
        sets, keeper = played.sets, played.keeper
        for name in ("a", "b"):
            await sets.add(spec(name, name), 0, from_config=True)
        heir = QuerySetSpec(name="c", text="", outputs=("csv:/out/a", "csv:/out/b"))
        keeper.refused = {(DetachOrder, "b")}
        _, (failed,) = await sets.reload([heir], 0)
        assert str(failed) == "b: no"
        assert keeper.sets == set(sets.states) == {"a", "b"}
        keeper.refused |= {(AttachOrder, "a")}
        await sets.reload([heir], 0)
        assert keeper.sets == set(sets.states) == {"b"}
        assert played.told == ["the set a is left out: no"]

    play(script)


def test_threads_may_look_while_sets_come() -> None:
    """As that of the metrics does."""

    class Seen:
        @property
        def state(self) -> None:
            sets._held["new"] = self  # type: ignore[assignment]

    sets: QuerySets

    async def script(played: Played) -> None:
        nonlocal sets
        sets = played.sets
        sets._held["old"] = Seen()  # type: ignore[assignment]
        assert list(sets.states) == ["old"]

    play(script)
