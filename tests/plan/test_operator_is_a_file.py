# SPDX-License-Identifier: Apache-2.0
"""An operator of the plan is a file for each back end, and a line in each one's registry."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest
from captures import ROOT
from plan.test_explain import FILES as QUERIES
from plan.test_explain import plan_of

from gigastream.codegen.operators import CODES
from gigastream.plan import operators
from gigastream.plan.nodes import Node, map_inputs

SOURCES = [
    *sorted((ROOT / "gigastream").rglob("*.py")),
    *sorted((ROOT / "spark_sink").rglob("*.py")),
]
FOLDERS = ("gigastream/plan/operators", "gigastream/codegen/operators", "spark_sink/operators")
by_path = pytest.mark.parametrize(
    "path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix()
)


def node_classes() -> set[type[Node]]:
    """All kinds of nodes, those that are only derived from too."""
    names = (module.name for module in iter_modules(operators.__path__, f"{operators.__name__}."))
    modules = [*map(import_module, names), import_module(Node.__module__)]
    members = (member for module in modules for _, member in inspect.getmembers(module))
    return {member for member in members if inspect.isclass(member) and issubclass(member, Node)}


KINDS = {kind for kind in node_classes() if hasattr(kind, "title")}
NAMES = {kind.__name__ for kind in node_classes()}


def test_order_by_limit_is_named_in_its_files_and_the_registries_alone() -> None:
    found = {
        path.relative_to(ROOT).as_posix()
        for path in SOURCES
        if re.search(r"\bOrderLimit\b", path.read_text())
    }
    own = {f"{folder}/order_limit.py" for folder in FOLDERS}
    registries = {f"{folder}/__init__.py" for folder in FOLDERS}
    assert found == own | registries


def test_every_operator_is_a_file_that_is_named_after_it() -> None:
    for kind in KINDS:
        words = re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()
        assert kind.__module__ == f"{operators.__name__}.{words}"
        assert (ROOT / FOLDERS[1] / f"{words}.py").exists()


def test_every_operator_has_its_line_in_the_registries() -> None:
    assert set(CODES) == KINDS
    pytest.importorskip("pyspark")
    from spark_sink.operators import OPERATORS

    assert set(OPERATORS) == KINDS


@by_path
def test_nobody_asks_of_what_kind_a_node_is(path: Path) -> None:
    tree = ast.parse(path.read_text())
    named = _node_names(tree)
    asked = {
        name.id for part in _asked(tree) for name in ast.walk(part) if isinstance(name, ast.Name)
    }
    assert not asked & named


def _node_names(tree: ast.Module) -> set[str]:
    """What a file calls the nodes that it imports: the trees of queries have a Union too."""
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    of_plan = (node for node in imports if (node.module or "").startswith("gigastream.plan"))
    return {alias.asname or alias.name for node in of_plan for alias in node.names} & NAMES


def _asked(tree: ast.Module) -> Iterator[ast.AST]:
    """What isinstance and issubclass ask for, `type(x) is …`, and the classes of a match."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in (
            "isinstance",
            "issubclass",
        ):
            yield node.args[1]
        elif isinstance(node, ast.Compare):
            yield from node.comparators
        elif isinstance(node, ast.MatchClass):
            yield node.cls


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_nodes_are_made_anew_over_changed_inputs(path: Path) -> None:
    def changed(child: Node) -> Node:
        return replace(child, name=f"{child.name}_")

    for node in plan_of(path).nodes:
        assert map_inputs(node, lambda child: child) == node
        assert map_inputs(node, changed).inputs == tuple(map(changed, node.inputs))
