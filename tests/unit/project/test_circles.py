"""Packages and modules import each other in one direction only; imports for type checkers count too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def imported(path: Path, package: str) -> Iterator[str]:
    """Absolute names of what a module imports, at any depth of its code."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{name.name}" for name in node.names)


def graph_of(folder: Path) -> dict[str, set[str]]:
    """By first name below the package, such as `sqs` or `gateway`: the others that it imports."""
    graph: dict[str, set[str]] = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        own = parts[1]
        if own == "__init__":
            continue
        found = {
            name.split(".")[1]
            for name in imported(path, ".".join(parts[:-1]))
            if name.startswith(f"{folder.name}.")
        }
        graph.setdefault(own, set()).update(found - {own, "__version__"})
    return graph


def module_graph(folder: Path) -> dict[str, set[str]]:
    """By name of module: the modules of the folder that it imports."""
    paths = {
        ".".join(path.relative_to(folder.parent).with_suffix("").parts): path for path in folder.rglob("*.py")
    }
    modules = {name.removesuffix(".__init__") for name in paths}
    graph: dict[str, set[str]] = {}
    for name, path in paths.items():
        found = set()
        for target in imported(path, name.rpartition(".")[0]):
            # `from .a import b`: b is a module, or a name in one.
            found |= {target} & modules or {target.rpartition(".")[0]} & modules
        graph[name.removesuffix(".__init__")] = found - {name.removesuffix(".__init__")}
    return graph


@pytest.mark.parametrize("folder", ["layers/core/penstock", "layers/web/penstock_web"])
def test_no_module_imports_one_that_imports_it(folder: str) -> None:
    graph = module_graph(ROOT / folder)
    assert len(graph) > 50
    assert any(graph.values())
    TopologicalSorter(graph).prepare()  # raises CycleError


@pytest.mark.parametrize("folder", ["layers/core/penstock", "layers/web/penstock_web"])
def test_no_package_imports_one_that_imports_it(folder: str) -> None:
    graph = graph_of(ROOT / folder)
    assert len(graph) > 10
    assert any(graph.values())
    TopologicalSorter(graph).prepare()  # raises CycleError


def test_the_interface_of_delivery_imports_no_carrier() -> None:
    """A new carrier is a folder beside the others; `workers/deliver.py` alone names it."""
    folder = ROOT / "layers/core/penstock/delivery"
    carriers = {path.name for path in folder.iterdir() if (path / "__init__.py").exists()}
    assert carriers == {"http", "mail", "functions"}
    for path in folder.glob("*.py"):
        imports = [name.removeprefix("penstock.delivery.") for name in imported(path, "penstock.delivery")]
        assert not [name for name in imports if name.split(".")[0] in carriers], path.name


def test_a_circle_is_found() -> None:
    with pytest.raises(CycleError):
        TopologicalSorter({"context": {"access"}, "access": {"context"}}).prepare()
