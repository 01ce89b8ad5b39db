"""Compares statements with PostgreSQL's catalogue: parameters, columns, and the Python types of both."""

import importlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from msgspec import Struct

from penstock.postgres.function_settings import list_statement_modules
from penstock.postgres.statement import BatchStatement, Statement
from tests.support.sql.calls import Connection

PYTHON_TYPES: dict[str, type] = {
    "smallint": int, "integer": int, "bigint": int, "double precision": float, "text": str, "boolean": bool,
    "bytea": bytes, "uuid": UUID, "timestamp with time zone": datetime, "jsonb": dict,
}  # fmt: skip
# Types of the bytes that entries may contain, from which the service makes arrays: UTF-8, JSON, and a UUID's 16 bytes.
BYTES_TOO = {"text", "jsonb", "uuid"}

_FUNCTION = """
with every as (
    select p.oid, a.n, a.type, coalesce(p.proargmodes[a.n], 'i') as mode, p.proargnames[a.n] as name
    from pg_proc p, unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) with ordinality a(type, n)
), shown as (
    select oid, n, name, type from every where mode in ('o', 'b', 't')
    union all
    select p.oid, a.attnum, a.attname, a.atttypid
    from pg_proc p join pg_type t on t.oid = p.prorettype join pg_attribute a on a.attrelid = t.typrelid
    where a.attnum > 0 and not a.attisdropped
    union all
    select p.oid, 1, p.proname, p.prorettype
    from pg_proc p join pg_type t on t.oid = p.prorettype where p.proargmodes is null and t.typrelid = 0
)
select array(select format_type(e.type, null) from every e where e.oid = p.oid and e.mode in ('i', 'b') order by n),
    p.pronargdefaults,
    array(select s.name::text from shown s where s.oid = p.oid order by n),
    array(select format_type(s.type, null) from shown s where s.oid = p.oid order by n)
from pg_proc p where p.pronamespace::regnamespace || '.' || p.proname = %s
"""


class Function(NamedTuple):
    """Represents a function in the catalogue. The column of a scalar result has the function's name."""

    parameters: list[str]
    defaults: int
    columns: list[str]
    column_types: list[str]

    def begins_with(self, types: list[str]) -> bool:
        return self.parameters[: len(types)] == types


def all_statements() -> list[tuple[str, Statement[Any]]]:
    """Returns every module's statements with their names in the module."""
    found = []
    for module in list_statement_modules():
        names = vars(importlib.import_module(module))
        found += [(f"{module}.{name}", v) for name, v in names.items() if isinstance(v, Statement)]
    return found


def findings(connection: Connection, statement: Statement[Any]) -> list[str]:
    """Returns all differences between a statement and the catalogue.

    If an overload for the previous release exists (sql/former), the check selects the overload that the statement
    calls.
    """
    functions = [Function(*row) for row in connection.execute(_FUNCTION, (statement.name,)).fetchall()]
    given = standard_names(connection, statement.types)
    called = [f for f in functions if len(f.parameters) - f.defaults <= len(given) and f.begins_with(given)]
    if len(called) != 1:
        takes = [f"{f.parameters}, of which {f.defaults} have defaults" for f in functions]
        return [f"{len(called)} functions {statement.name} take {given}; there are {takes}"]
    (function,) = called
    return [
        *_columns(statement.row, function),
        *(_entries(statement, function) if isinstance(statement, BatchStatement) else ()),
    ]


def standard_names(connection: Connection, types: Sequence[str]) -> list[str]:
    """Returns standard names: int4[] becomes integer[]."""
    query = "select array_agg(format_type(t::regtype, null) order by n) from unnest(%s::text[]) with ordinality u(t, n)"
    row = connection.execute(query, (list(types),)).fetchone()
    assert row is not None
    return list(row[0] or [])


def _columns(row: type, function: Function) -> Iterator[str]:
    hints = get_type_hints(row)
    is_scalar = len(function.columns) == len(hints) == 1 and function.columns[0] not in hints
    if list(hints) != function.columns and not is_scalar:
        yield f"columns {function.columns}, not {list(hints)}"
        return
    for (name, hint), kind in zip(hints.items(), function.column_types, strict=True):
        if not fits(hint, kind):
            yield f"{name} is {hint}, not {kind}"


def _entries(statement: BatchStatement[Any, Any], function: Function) -> Iterator[str]:
    hints = get_type_hints(statement.entry)
    arrays = [kind.removesuffix("[]") for kind in function.parameters if kind.endswith("[]")]
    if not all(kind.endswith("[]") for kind in function.parameters[: len(hints)]) or len(arrays) != len(hints):
        yield f"{len(arrays)} arrays, {len(hints)} fields of an entry"
        return
    for (name, hint), kind in zip(hints.items(), arrays, strict=True):
        if not fits(hint, kind) and not (kind in BYTES_TOO and _required(hint) == {bytes}):
            yield f"{name} of an entry is {hint}, not {kind}"


def fits(hint: Any, kind: str) -> bool:
    """Returns whether a Python annotation suits PostgreSQL's type `kind`."""
    types = _required(hint)
    if len(types) != 1:
        return False
    (given,) = types
    if kind.endswith("[]"):
        return get_origin(given) is list and fits(get_args(given)[0], kind.removesuffix("[]"))
    if get_origin(given) is Literal:  # the possible texts in the column
        return kind == "text" and all(isinstance(text, str) for text in get_args(given))
    given = get_origin(given) or given
    return given is PYTHON_TYPES.get(kind) or (kind == "jsonb" and issubclass(given, (Struct, list)))


def _required(hint: Any) -> set[Any]:
    """Returns the types in `X | None` without None."""
    parts = get_args(hint) if get_origin(hint) in (UnionType, Union) else (hint,)
    return {part for part in parts if part is not NoneType}
