# SPDX-License-Identifier: Apache-2.0
"""Dataclasses that are cheap to declare: what a class's methods are is found when one is called.

The standard ones print and compile six methods for each class as its module is loaded, of which a
process calls few: half of the start of a short query. These behave as they do, in what the package
uses of them, and the functions of the standard module know them; type checkers take them for those.
"""

from __future__ import annotations

from operator import attrgetter

TYPE_CHECKING = False  # typing's own

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from dataclasses import asdict, astuple, dataclass, field, fields, is_dataclass, replace
    from typing import Any

__all__ = [
    "asdict",
    "astuple",
    "dataclass",
    "field",
    "fields",
    "is_dataclass",
    "load_standard",
    "replace",
]

_FIELDS = "__dataclass_fields__"
"""By this name the standard module knows a dataclass, too."""


class FrozenError(AttributeError):
    """What is frozen is never assigned to."""


class _Missing:
    """There is no default."""


class _Factory:
    """In the place of an argument that was not given: a factory makes the value."""


class _Field:
    """What is known of a field; the names are those of the standard module."""

    __slots__ = ("compare", "given", "given_factory", "init", "kw_only", "name", "repr", "type")

    def __init__(
        self,
        default: Any = _Missing,
        default_factory: Any = _Missing,
        init: bool = True,
        repr: bool = True,
        compare: bool = True,
        kw_only: bool | None = None,
    ) -> None:
        self.name = ""
        self.type = ""
        self.given = default
        self.given_factory = default_factory
        self.init = init
        self.repr = repr
        self.compare = compare
        self.kw_only = kw_only

    @property
    def _field_type(self) -> object:
        """What the standard fields() and replace() ask for."""
        import dataclasses

        return dataclasses._FIELD  # type: ignore[attr-defined]

    @property
    def default(self) -> object:
        """The value of an argument that is left out; dataclasses.MISSING: it may not be."""
        return _as_others_ask(self.given)

    @property
    def default_factory(self) -> object:
        """What makes that value; dataclasses.MISSING: nothing does."""
        return _as_others_ask(self.given_factory)

    @property
    def has_default(self) -> bool:
        """Whether an argument for it may be left out."""
        return self.given is not _Missing or self.given_factory is not _Missing


def _as_others_ask(given: object) -> object:
    """A library that reads the fields of a class (msgspec) knows the standard word alone."""
    if given is not _Missing:
        return given
    import dataclasses

    return dataclasses.MISSING


def load_standard() -> None:
    """Load the standard module now, for libraries that do so late: a confined process cannot."""
    import dataclasses  # noqa: F401


def _declare(
    cls: type | None = None,
    /,
    *,
    eq: bool = True,
    frozen: bool = False,
    slots: bool = False,
    kw_only: bool = False,
) -> Any:
    """Make a class a dataclass: dataclasses.dataclass, with the arguments that are used here."""

    def declared(cls: type) -> type:
        own = _own_fields(cls, kw_only)
        found = dict(_inherited_fields(cls))
        found.update(own)
        made = _with_slots(cls, own, found) if slots else _with_defaults(cls, own)
        setattr(made, _FIELDS, found)
        _add_methods(made, [*found.values()], eq, frozen)
        if frozen and slots:
            _set_missing(made, "__getstate__", _getstate)
            _set_missing(made, "__setstate__", _setstate)
        return made

    return declared if cls is None else declared(cls)


def _own_fields(cls: type, kw_only: bool) -> dict[str, _Field]:
    """The fields that a class declares: annotations are texts (`from __future__`)."""
    found = {}
    annotations = cls.__dict__.get("__annotations__", {})  # noqa: RUF063 (inspect is slow to load)
    for name, annotation in annotations.items():
        if annotation.startswith("ClassVar"):
            continue
        given = cls.__dict__.get(name, _Missing)
        one = given if isinstance(given, _Field) else _Field(default=given)
        if one.given.__class__.__hash__ is None:
            raise ValueError(f"field {name}: a default that all objects would share")
        one.name, one.type = name, annotation
        if one.kw_only is None:
            one.kw_only = kw_only
        found[name] = one
    return found


def _inherited_fields(cls: type) -> Iterator[tuple[str, _Field]]:
    for base in cls.__mro__[-1:0:-1]:
        yield from base.__dict__.get(_FIELDS, {}).items()


def _with_defaults(cls: type, own: dict[str, _Field]) -> type:
    """The class, whose attributes are the defaults and no longer what describes them."""
    for name, one in own.items():
        if one.given is not _Missing:
            setattr(cls, name, one.given)
        elif name in cls.__dict__:
            delattr(cls, name)
    return cls


def _with_slots(cls: type, own: dict[str, _Field], found: dict[str, _Field]) -> type:
    """The class again, with a slot for each field that no base has one for."""
    body = dict(cls.__dict__)
    inherited = {
        slot for base in cls.__mro__[1:-1] for slot in _texts(base.__dict__.get("__slots__", ()))
    }
    body["__slots__"] = tuple(name for name in found if name not in inherited)
    for name in own:
        body.pop(name, None)
    body.pop("__dict__", None)
    body.pop("__weakref__", None)
    made = type(cls)(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    return made


def _texts(slots: Any) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _set_missing(cls: type, name: str, value: object) -> None:
    """Give a class what it does not define itself."""
    if name not in cls.__dict__:
        setattr(cls, name, value)


# ---- methods ----


def _add_methods(cls: type, found: list[_Field], eq: bool, frozen: bool) -> None:
    positional = [one for one in found if not one.kw_only]
    in_order = [*positional, *(one for one in found if one.kw_only)]
    _set_missing(cls, "__match_args__", tuple(one.name for one in positional if one.init))
    _set_missing(cls, "__init__", _late_init(cls, in_order, frozen))
    _set_missing(cls, "__repr__", _repr_of([one.name for one in found if one.repr]))
    if eq:
        _add_equality(cls, _values_of([one.name for one in found if one.compare]), frozen)
    if frozen:
        setattr_, delattr_ = _frozen(cls, frozenset(one.name for one in found))
        cls.__setattr__ = setattr_  # type: ignore[method-assign]
        cls.__delattr__ = delattr_  # type: ignore[method-assign]


def _add_equality(cls: type, values: Callable[[Any], Any], frozen: bool) -> None:
    body = cls.__dict__
    has_hash = body.get("__hash__") is not None or ("__hash__" in body and "__eq__" not in body)

    def __eq__(self: object, other: object) -> bool:  # noqa: N807
        if other.__class__ is self.__class__:
            return bool(values(self) == values(other))
        return NotImplemented

    def __hash__(self: object) -> int:  # noqa: N807
        return hash(values(self))

    _set_missing(cls, "__eq__", __eq__)
    if not has_hash:
        cls.__hash__ = __hash__ if frozen else None  # type: ignore[assignment]


def _values_of(names: list[str]) -> Callable[[Any], Any]:
    """What gives the values of an object's fields as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _repr_of(names: list[str]) -> Callable[[Any], str]:
    def __repr__(self: object) -> str:  # noqa: N807
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({values})"

    return __repr__


def _frozen(cls: Any, names: frozenset[str]) -> tuple[Callable[..., None], Callable[..., None]]:
    """What refuses to assign and to delete; a subclass that is no dataclass may have others."""

    def __setattr__(self: object, name: str, value: object) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise FrozenError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: object, name: str) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise FrozenError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return __setattr__, __delattr__


def _getstate(self: Any) -> list[object]:
    return [getattr(self, name) for name in getattr(self, _FIELDS)]


def _setstate(self: Any, state: list[object]) -> None:
    for name, value in zip(getattr(self, _FIELDS), state, strict=True):
        object.__setattr__(self, name, value)


# ---- __init__ ----


def _late_init(cls: type, in_order: list[_Field], frozen: bool) -> Callable[..., None]:
    """What writes a class's __init__ when the first object is made, and leaves it in its place."""

    def __init__(self: object, *arguments: object, **named: object) -> None:  # noqa: N807
        made = _init_of(cls, in_order, frozen)
        if cls.__dict__["__init__"] is __init__:
            cls.__init__ = made  # type: ignore[misc]
        made(self, *arguments, **named)

    return __init__


def _init_of(cls: type, in_order: list[_Field], frozen: bool) -> Callable[..., None]:
    known: dict[str, Any] = {"_Factory": _Factory, "_set": object.__setattr__}
    arguments, lines, has_star = ["self"], [], False
    for number, one in enumerate(in_order):
        known[f"_default{number}"] = one.given
        known[f"_factory{number}"] = one.given_factory
        if one.init and one.kw_only and not has_star:
            has_star = True
            arguments.append("*")
        if one.init:
            arguments.append(_argument(one, number))
        value = _value(one, number)
        if value is not None:
            name = one.name
            lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    body = "\n ".join(lines or ["pass"])
    exec(f"def __init__({', '.join(arguments)}):\n {body}", known)
    made: Callable[..., None] = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__module__ = cls.__module__
    return made


def _argument(one: _Field, number: int) -> str:
    if one.given_factory is not _Missing:
        return f"{one.name}=_Factory"
    return f"{one.name}=_default{number}" if one.has_default else one.name


def _value(one: _Field, number: int) -> str | None:
    """What is assigned to a field; None: nothing is."""
    if one.given_factory is not _Missing:
        made = f"_factory{number}()"
        return f"{made} if {one.name} is _Factory else {one.name}" if one.init else made
    if one.init:
        return one.name
    return f"_default{number}" if one.has_default else None


# ---- what is asked of dataclasses ----


def _fields(of: Any) -> tuple[_Field, ...]:
    """The fields of a dataclass, or of an object of one, in order. TypeError where it is none."""
    try:
        return tuple(getattr(of, _FIELDS).values())
    except AttributeError:
        raise TypeError("must be called with a dataclass type or instance") from None


def _is_dataclass(of: object) -> bool:
    """Whether it is a dataclass, or an object of one."""
    return hasattr(of if isinstance(of, type) else type(of), _FIELDS)


def _replace(of: Any, /, **changes: Any) -> Any:
    """A copy of an object with other values of some fields."""
    for one in _fields(of):
        if one.init:
            if one.name not in changes:
                changes[one.name] = getattr(of, one.name)
        elif one.name in changes:
            raise ValueError(f"field {one.name} is declared with init=False")
    return of.__class__(**changes)


def _asdict(of: Any) -> dict[str, Any]:
    """The values of an object by name; of objects within it, too."""
    return {one.name: _plain(getattr(of, one.name), _asdict) for one in _fields(of)}


def _astuple(of: Any) -> tuple[Any, ...]:
    """The values of an object in order; of objects within it, too."""
    return tuple(_plain(getattr(of, one.name), _astuple) for one in _fields(of))


def _plain(value: Any, made_of: Callable[[Any], Any]) -> Any:
    """A value of an object; whoever has given up reading files loads no module for it."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_plain(item, made_of) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(item, made_of) for item in value)
    if isinstance(value, dict):
        pairs = ((_plain(key, made_of), _plain(item, made_of)) for key, item in value.items())
        return type(value)(pairs)
    return made_of(value) if _is_dataclass(value) and not isinstance(value, type) else value


if not TYPE_CHECKING:
    asdict, astuple, dataclass, field = _asdict, _astuple, _declare, _Field
    fields, is_dataclass, replace = _fields, _is_dataclass, _replace
