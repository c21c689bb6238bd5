# SPDX-License-Identifier: Apache-2.0
"""A late dataclass behaves as a standard one: each is declared by both, and asked the same."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar

import msgspec
import pytest

from gigastream import late_dataclass

MODULES = (dataclasses, late_dataclass)


@late_dataclass.dataclass(frozen=True, slots=True)
class KeyedMessage:
    """As those that processes of the daemon send each other."""

    x: int
    y: int = 2
    rows: tuple[int, ...] = late_dataclass.field(default_factory=tuple)
    key: int = late_dataclass.field(kw_only=True)


def declared(by: Any) -> SimpleNamespace:
    """The same classes, made by one module or the other."""

    @by.dataclass(frozen=True, slots=True)
    class Point:
        kind: ClassVar[str] = "point"
        x: int
        y: int = 2
        span: str = by.field(default="nowhere", compare=False, repr=False)

    @by.dataclass(frozen=True, slots=True)
    class Named(Point):
        name: str = "a"

    @by.dataclass(frozen=True, slots=True, kw_only=True)
    class Keyed(Point):
        key: int
        rows: list[int] = by.field(default_factory=list)

    @by.dataclass(slots=True)
    class Counter:
        seen: int = 0
        made: dict[str, int] = by.field(default_factory=dict)
        text: str = by.field(init=False, repr=False, compare=False)

        def __post_init__(self) -> None:
            self.text = f"{self.seen} seen"

    @by.dataclass
    class Open:
        one: int
        other: str = by.field(default="z", kw_only=True)

    @by.dataclass(eq=False)
    class Same:
        value: int

    @by.dataclass(frozen=True)
    class Spoken:
        value: int

        def __repr__(self) -> str:
            return "spoken"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 5

    @by.dataclass(frozen=True, slots=True)
    class Lone:
        value: int

    @by.dataclass(frozen=True, slots=True)
    class Empty:
        pass

    return SimpleNamespace(**{k: v for k, v in locals().items() if k != "by"})


STANDARD, LATE = (declared(module) for module in MODULES)

ASKED: list[Callable[[Any], Any]] = [
    lambda m: repr(m.Point(1)),
    lambda m: repr(m.Point(1, y=3, span="here")),
    lambda m: repr(m.Named(1, 2, "s", "n")),
    lambda m: repr(m.Keyed(1, key=4)),
    lambda m: repr(m.Counter(3)),
    lambda m: repr([m.Open(1), m.Open(1, other="y"), m.Lone(1), m.Empty(), m.Spoken(3)]),
    lambda m: m.Keyed(1, key=4).rows is m.Keyed(1, key=4).rows,
    lambda m: m.Counter(3).text,
    lambda m: m.Point(1, 2, "here") == m.Point(1, 2, "there"),
    lambda m: m.Point(1) == m.Point(2),
    lambda m: m.Point(1) == m.Named(1),
    lambda m: m.Point(1) == 1,
    lambda m: m.Empty() == m.Empty(),
    lambda m: m.Counter(1) == m.Counter(1),
    lambda m: m.Same(1) == m.Same(1),
    lambda m: m.Spoken(1) == m.Spoken(2),
    lambda m: hash(m.Point(1)) == hash(m.Point(1, span="here")) == hash((1, 2)),
    lambda m: [hash(item) for item in (m.Lone(7), m.Empty(), m.Spoken(1))],
    lambda m: hash(m.Counter(1)),
    lambda m: hash(m.Open(1)),
    lambda m: len({m.Point(1), m.Point(1), m.Named(1)}),
    lambda m: m.Point.__match_args__ + m.Keyed.__match_args__,
    lambda m: (m.Point.__slots__, m.Named.__slots__, m.Keyed.__slots__),
    lambda m: m.Point.kind,
    lambda m: hasattr(m.Point, "y"),
    lambda m: (m.Open.other, hasattr(m.Open, "one"), m.Open(1).__dict__),
    lambda m: m.Point(),
    lambda m: m.Point(1, 2, "s", 4),
    lambda m: m.Keyed(1, 2, "s", 4),
    lambda m: m.Keyed(1),
    lambda m: m.Point(1, z=1),
    lambda m: setattr(m.Point(1), "x", 2),
    lambda m: setattr(m.Named(1), "name", "b"),
    lambda m: setattr(m.Spoken(1), "z", 2),
    lambda m: delattr(m.Point(1), "x"),
    lambda m: setattr(m.Counter(), "z", 2),
    lambda m: repr(copy.copy(m.Point(1, 5))),
    lambda m: repr(copy.deepcopy(m.Keyed(1, key=4, rows=[1]))),
    lambda m: [getattr(m.Keyed(1, key=2), name) for name in ("x", "y", "span", "key", "rows")],
]


def answered(ask: Callable[[Any], Any], classes: SimpleNamespace) -> object:
    """What an asking gives, or the kind of its error and, of an assignment, the text."""
    try:
        return ask(classes)
    except AttributeError as error:
        return AttributeError, str(error)
    except TypeError as error:
        return TypeError, str(error).replace("declared.<locals>.", "")


@pytest.mark.parametrize("number", range(len(ASKED)))
def test_each_asking_has_one_answer(number: int) -> None:
    assert answered(ASKED[number], LATE) == answered(ASKED[number], STANDARD)


@pytest.mark.parametrize("tools", MODULES, ids=lambda module: module.__name__)
@pytest.mark.parametrize("classes", [STANDARD, LATE], ids=["standard", "late"])
def test_the_functions_of_each_module_know_the_classes_of_both(tools: Any, classes: Any) -> None:
    if tools is late_dataclass and classes is STANDARD:
        pytest.skip("nothing of the package is a standard one")
    keyed = classes.Keyed(1, key=2, rows=[3])
    assert [one.name for one in tools.fields(keyed)] == ["x", "y", "span", "key", "rows"]
    assert [one.name for one in tools.fields(classes.Keyed)] == ["x", "y", "span", "key", "rows"]
    assert tools.replace(keyed, x=5) == classes.Keyed(5, key=2, rows=[3])
    assert tools.asdict(keyed) == {"x": 1, "y": 2, "span": "nowhere", "key": 2, "rows": [3]}
    assert tools.astuple(keyed) == (1, 2, "nowhere", 2, [3])
    assert tools.is_dataclass(keyed)
    assert tools.is_dataclass(classes.Keyed)
    assert not tools.is_dataclass(5)
    with pytest.raises(ValueError, match="init=False"):
        tools.replace(classes.Counter(1), text="x")


def test_what_is_no_dataclass_has_no_fields() -> None:
    with pytest.raises(TypeError):
        late_dataclass.fields(5)  # type: ignore[arg-type]


@late_dataclass.dataclass(frozen=True, slots=True)
class Kept:
    """Of a module's own, so that pickle finds it."""

    value: int
    rows: tuple[int, ...] = ()


def test_it_is_pickled() -> None:
    assert pickle.loads(pickle.dumps(Kept(1, (2, 3)))) == Kept(1, (2, 3))


def test_nothing_is_compiled_before_an_object_is_made() -> None:
    class_ = declared(late_dataclass).Point
    late = class_.__dict__["__init__"]
    class_(1)
    made = class_.__dict__["__init__"]
    class_(2)
    assert made is not late
    assert class_.__dict__["__init__"] is made
    late(object.__new__(class_), 3)
    assert class_.__dict__["__init__"] is made


@pytest.mark.parametrize("by", MODULES)
def test_a_default_that_all_objects_would_share_is_refused(by: Any) -> None:
    with pytest.raises(ValueError, match="values"):

        @by.dataclass
        class _Shared:
            values: list[int] = []  # noqa: RUF012


def test_a_library_that_reads_the_fields_asks_for_those_without_a_default() -> None:
    assert msgspec.convert({"x": 1, "key": 3}, KeyedMessage) == KeyedMessage(1, key=3)
    with pytest.raises(msgspec.ValidationError, match="missing required field `key`"):
        msgspec.convert({"x": 1}, KeyedMessage)
