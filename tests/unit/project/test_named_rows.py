"""Rows of the database are used by the names of their columns: no code of the layers counts columns.

Only `penstock.postgres` and `penstock_web.database`, which make the rows, do. What a call of the database returns is
followed through names within a function; parameters named `row` and `rows` are taken for what they say.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

LAYERS = Path(__file__).parents[3] / "layers"
MAKERS = ("core/penstock/postgres/", "web/penstock_web/database/")
EFFECTS = {"Call", "BatchCall", "Transact", "Receive"}
CALLS = {"call", "_call", "fetch"}
SAME_ROWS = {"sorted", "list", "reversed", "tuple"}
Function = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.AsyncFor | ast.comprehension


class Scope:
    """What a function's names hold: `rows` lists of rows, `row` single ones."""

    def __init__(self, function: Function) -> None:
        self.function = function
        names = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
        self.rows, self.row = names & {"rows"}, names & {"row"}
        for _ in range(3):  # a name may be used above its assignment, in a loop
            for node in ast.walk(function):
                self._learn(node)

    def _learn(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            self._bind(node.targets[0], node.value)
        elif isinstance(node, ast.NamedExpr):
            self._bind(node.target, node.value)
        elif isinstance(node, Loop) and self.are_rows(node.iter) and isinstance(node.target, ast.Name):
            self.row.add(node.target.id)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.rows |= {target.id} if self.are_rows(value) else set()
            self.row |= {target.id} if self.is_row(value) else set()
        elif isinstance(target, ast.Tuple | ast.List) and self.are_rows(value):
            self.row |= {part.id for part in target.elts if isinstance(part, ast.Name)}
            starred = [part.value for part in target.elts if isinstance(part, ast.Starred)]
            self.rows |= {part.id for part in starred if isinstance(part, ast.Name)}

    def are_rows(self, node: ast.expr) -> bool:
        """Whether an expression is a list of rows."""
        match node:
            case ast.Name(id=name):
                return name in self.rows
            case ast.Await(value=value) | ast.Subscript(value=value, slice=ast.Slice()):
                return self.are_rows(value)
            case ast.YieldFrom(value=ast.Call(func=ast.Name(id=name))):
                return name in EFFECTS
            case ast.Call(func=ast.Attribute(attr=name)):
                return name in CALLS
            case ast.Call(func=ast.Name(id=name), args=[first, *_]):
                return name in SAME_ROWS and self.are_rows(first)
        return False

    def is_row(self, node: ast.expr) -> bool:
        """Whether an expression is one row."""
        match node:
            case ast.Name(id=name):
                return name in self.row
            case ast.Subscript(value=value, slice=index):
                return _counts(index) and not isinstance(index, ast.Slice) and self.are_rows(value)
        return False

    def findings(self) -> Iterator[int]:
        """The lines that count columns."""
        for node in ast.walk(self.function):
            match node:
                case ast.Subscript(value=value, slice=index) if _counts(index) and self.is_row(value):
                    yield node.lineno
                case ast.Starred(value=value, ctx=ast.Load()) if self.is_row(value):
                    yield node.lineno
                case ast.Assign(targets=[ast.Tuple() | ast.List() as target], value=value):
                    nested = any(isinstance(part, ast.Tuple | ast.List) for part in target.elts)
                    if self.is_row(value) or (nested and self.are_rows(value)):
                        yield node.lineno
                case ast.For() | ast.AsyncFor() | ast.comprehension():
                    if isinstance(node.target, ast.Tuple | ast.List) and self.are_rows(node.iter):
                        yield node.target.lineno


def _counts(index: ast.expr) -> bool:
    """Whether a subscript is a whole number or a slice."""
    if isinstance(index, ast.UnaryOp):
        index = index.operand
    return isinstance(index, ast.Slice) or (isinstance(index, ast.Constant) and type(index.value) is int)


def lines_that_count_columns(code: str) -> list[int]:
    functions = [node for node in ast.walk(ast.parse(code)) if isinstance(node, Function)]
    return sorted({line for function in functions for line in Scope(function).findings()})


def test_columns_are_named() -> None:
    paths = {str(path.relative_to(LAYERS)): path for path in LAYERS.rglob("*.py")}
    assert len(paths) > 200
    found = {
        name: lines
        for name, path in paths.items()
        if not name.startswith(MAKERS) and (lines := lines_that_count_columns(path.read_text()))
    }
    assert found == {}


@pytest.mark.parametrize(
    "line",
    [
        "rows = yield from Call(X, (1,)); return rows[0][2]",
        "(row,) = yield from BatchCall(X, entries); return row[0]",
        "header, *rest = yield from Receive(X, arn, 1, None); return header[-1]",
        "header, *rest = yield from Receive(X, arn, 1, None); return rest[0][1]",
        "rows = self._database.call(X, ()); first = rows[0]; return first[2:7]",
        "return (await pool.fetch(X, ()))[0][0]",
        "((a, b),) = yield from Call(X, ())",
        "[[a, b]] = yield from Call(X, ())",
        "rows = yield from Call(X, ()); (a, b) = rows[0]",
        "return [a for a, b in database.call(X, ())]",
        "rows = yield from Call(X, ()); return [Other(*row) for row in rows]",
        "rows = yield from Call(X, ()); return sorted(row[1] for row in sorted(rows[1:]))",
        "if found := database.call(X, ()): return found[0][1]",
        "async for a, b in pool.call(X, ()): pass",
        "return [row[0] for row in rows]",
        "return row[3]",
    ],
)
def test_each_way_of_counting_is_found(line: str) -> None:
    assert lines_that_count_columns(f"async def f(self, row, rows):\n    {line}") == [2]


@pytest.mark.parametrize(
    "line",
    [
        "(row,) = yield from Call(X, (1,)); return row.error",
        "rows = yield from Call(X, ()); return [row.name for row in rows[:10]], rows[-1].name",
        "header, *rest = yield from Receive(X, arn, 1, None); return rest[1:]",
        "rows = yield from Call(X, ()); return [(n, row.id) for n, row in enumerate(rows)]",
        "first, second = text.split(); return first[0] + second[1:]",
        "header = http.headers.get(b'authorization'); return header[7:]",
        "rows = enumerate(zip(bars, sums)); return [bar for number, (bar, _) in rows]",
        "for name, value in options.items(): print(name[0], value)",
        "rows = yield from Call(X, ()); return rows[0].schedule['name']",
        "yield from Wait(arn, 1)",
    ],
)
def test_what_counts_no_columns_is_not_found(line: str) -> None:
    assert lines_that_count_columns(f"def f(self, arn):\n    {line}") == []
