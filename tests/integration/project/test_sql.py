"""Checks SQL and the code that uses SQL: the functions' files, the page of the SQL interface, statements, and rows."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest

from penstock.limits.queue_limits import MAX_DELAY_SECONDS
from penstock.postgres.migrations import find_sql_directory
from tests.support.database import Database
from tests.support.pages.script import blocks
from tests.support.sql.function_check import check_files, check_server

ROOT = Path(__file__).parents[3]

# --- function files --------------------------------------------------------------------------------------------------
# The check of SQL functions reports each planted fault, and reports no fault in Penstock's functions.
HEADER = "-- queue.f: does something.\n"
GOOD = HEADER + "create or replace function queue.f(p_a int) returns int\nlanguage sql as 'select p_a';\n"
PART = "\n-- queue.g: a part of it.\ncreate or replace function queue.g() returns int language sql as 'select 1';\n"
LISTED = GOOD.replace(HEADER, f"{HEADER}-- This file also contains g.\n")
USE = LISTED.replace("'select p_a'", "'select p_a + queue.g()'")
RECORD = """create or replace function queue.f_columns() returns jsonb language sql as
    $$ select jsonb_build_object('other', jsonb_build_object('a', 1)) $$;
create or replace function queue.g() returns int language sql as
    $$ select r.id from jsonb_populate_record(null::queue.first, jsonb_build_object('id', 1)) r $$;
"""
MADE = "create function queue.g() returns int language sql as 'select 1'"
SHADOW = "declare p_a int; begin return 1; end"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Makes a folder with the layout of sql/ that contains one migration and one valid function."""
    (tmp_path / "migrations").mkdir()
    (tmp_path / "functions").mkdir()
    (tmp_path / "migrations/0001_first.sql").write_text("create table queue.first (id int);")
    (tmp_path / "functions/queue.f.sql").write_text(GOOD)
    return tmp_path


def test_our_functions_are_in_order(empty_database: Database) -> None:
    assert list(check_files(find_sql_directory())) == []
    assert list(check_server(empty_database.api_dsn, empty_database.dsn, find_sql_directory())) == []


def test_a_good_function_has_no_findings(directory: Path, empty_database: Database) -> None:
    assert list(check_files(directory)) == []
    assert list(check_server(empty_database.api_dsn, empty_database.dsn, directory)) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD.replace("queue.f(p_a", "queue.g(p_a"), "defines queue.g first, not queue.f"),
        ("select 1;", "defines nothing first, not queue.f"),
        (GOOD.replace("-- queue.f", "-- queue.g"), "no comment that begins with '-- queue.f: '"),
        (USE + PART.replace("-- queue.g", "-- a"), "no comment that begins with '-- queue.g: '"),
        (USE + "select 1;\n" + PART.lstrip(), "stands before the function"),
        (LISTED + PART, "neither it nor a statement uses queue.g"),
        (GOOD + PART, "its head does not list queue.g"),
        (HEADER + "select 1;\n" + GOOD.removeprefix(HEADER), "stands before the function"),
        (GOOD.replace("something", "x" * 125), "has 143 characters"),
        (GOOD.replace("'select p_a'", "$$\nselect p_a" + "\n" * 101 + "$$"), "queue.f has 101 lines"),
        (GOOD.replace("queue.f:", "queue.f(a):"), "no comment that begins with '-- queue.f: '"),
        (GOOD.replace("something", "something with p_b"), "names p_b, which is no parameter of it"),
    ],
)
def test_findings_in_a_file(directory: Path, text: str, said: str) -> None:
    (directory / "functions/queue.f.sql").write_text(text)
    (finding, *_) = check_files(directory)
    assert said in finding


def test_a_subjects_file_has_short_functions_that_other_files_use(directory: Path) -> None:
    (directory / "functions/queue.f.sql").write_text(GOOD.replace("'select p_a'", "'select p_a + queue.g()'"))
    (directory / "functions/parts.sql").write_text(f"-- Parts.\n{PART}")
    assert list(check_files(directory)) == []
    (directory / "functions/parts.sql").write_text(PART.lstrip() + "\n" * 41)
    assert list(check_files(directory)) == [
        "parts.sql: does not begin with a line about its subject",
        "parts.sql: queue.g is long, and needs a file",
    ]


def test_a_function_that_two_files_use_has_a_file(directory: Path) -> None:
    (directory / "functions/queue.f.sql").write_text(USE + PART)
    assert list(check_files(directory)) == []
    (directory / "functions/queue.h.sql").write_text(USE.replace("queue.f", "queue.h"))
    assert list(check_files(directory)) == ["queue.f.sql: queue.h.sql uses queue.g, which needs a file"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD.replace("sql as 'select p_a'", f"plpgsql as '{SHADOW}'"), 'variable "p_a" shadows'),
        (GOOD.replace("select p_a", "select nothing"), 'column "nothing" does not exist'),
        (
            GOOD + "create or replace function queue.f() returns int language sql as 'select 1';",
            "2 functions of that name",
        ),
        (GOOD.replace("language sql", "language sql security definer"), "does not fix search_path"),
        (GOOD + RECORD.replace("'id'", "'idd'"), "queue.f.sql: idd is no column of queue.first"),
        (GOOD + RECORD.replace("'id', 1", "'id', 1) || queue.f_columns("), "other is no column of queue.first"),
        (
            f"do $$ begin execute $text${MADE}$text$; end $$;\n{GOOD}".replace("create f", "create or replace f"),
            "comes from no file",
        ),
    ],
)
def test_findings_of_the_server(directory: Path, empty_database: Database, text: str, said: str) -> None:
    (directory / "functions/queue.f.sql").write_text(text)
    (finding,) = check_server(empty_database.api_dsn, empty_database.dsn, directory)
    assert said in finding


# --- docs/reference/sql.md --------------------------------------------------------------------------------------------
# docs/reference/sql.md, sql/functions/api, sql/grants.sql and the catalogue name the same functions for applications.
PAGE = (ROOT / "docs/reference/sql.md").read_text()
GRANTS = (find_sql_directory() / "grants.sql").read_text()
FILES = sorted(path.stem for path in (find_sql_directory() / "functions/api").glob("*.sql"))

ARGUMENTS: LiteralString = """
select 'queue.' || proname, pg_get_function_arguments(oid) from pg_proc where pronamespace = 'queue'::regnamespace
"""
CALLABLE: LiteralString = ARGUMENTS + "and has_function_privilege(%s, oid, 'execute')"
OF_PUBLIC: LiteralString = """
select proname from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
where p.pronamespace = 'queue'::regnamespace and a.grantee = 0
"""


def documented() -> dict[str, str]:
    """Returns the signatures in the table: the names, types and defaults of the parameters."""
    return dict(re.findall(r"^\| `(queue\.\w+)\((.*?)\)` \|", PAGE, re.MULTILINE))


def written(arguments: str) -> str:
    """Returns the catalogue's arguments in the page's notation."""
    short = arguments.replace("timestamp with time zone", "timestamptz")
    return re.sub(r" DEFAULT (.+?)(?:::[a-z \[\]]+)?(?=, \w+ [a-z]|$)", r" default \1", short).replace("NULL", "null")


def rows(connection: psycopg.Connection[Any], query: LiteralString) -> list[tuple[Any, ...]]:
    return connection.execute(query).fetchall()


def test_the_page_names_the_files() -> None:
    assert sorted(documented()) == FILES


def test_the_grants_are_for_the_files(database: Database) -> None:
    """The files grant rights to the role of applications and to the service's role."""
    with psycopg.connect(database.dsn) as connection:
        connection.execute(GRANTS.encode())
        granted = {
            role: {name for name, _ in connection.execute(CALLABLE, (role,))}
            for role in ("penstock_app", "penstock_api")
        }
        every = {name for name, _ in rows(connection, ARGUMENTS)}
        connection.rollback()
    assert granted == {"penstock_app": set(FILES), "penstock_api": every}
    assert set(FILES) < every


def test_only_functions_for_applications_have_a_public_comment(database: Database) -> None:
    query: LiteralString = """
        select 'queue.' || proname from pg_proc p
        where pronamespace = 'queue'::regnamespace and starts_with(obj_description(oid, 'pg_proc'), 'Public: ')"""
    with psycopg.connect(database.dsn) as connection:
        assert sorted(name for (name,) in rows(connection, query)) == FILES


def test_the_catalogue_has_the_parameters_of_the_page(database: Database) -> None:
    with psycopg.connect(database.dsn) as connection:
        arguments = dict(rows(connection, ARGUMENTS))
    assert {name: written(arguments[name]) for name in FILES} == documented()


def test_no_parameter_of_an_application_has_the_prefix_of_internal_ones() -> None:
    assert [name for name, arguments in documented().items() if re.search(r"\bp_", arguments)] == []


def test_the_public_may_call_nothing(database: Database) -> None:
    with psycopg.connect(database.dsn) as connection:
        assert rows(connection, OF_PUBLIC) == []


def test_arguments_are_given_by_name(database: Database) -> None:
    """The test runs the examples on the page in one transaction."""
    (examples,) = [block.text for block in blocks("docs/reference/sql.md") if "delay => 5" in block.text]
    with psycopg.connect(database.api_dsn, autocommit=True) as connection:
        connection.execute(examples.encode())
        assert rows(connection, "select queue.delete_schedule(name => 'report')") == [(True,)]


# --- statements ------------------------------------------------------------------------------------------------------
# In the table of actions, mypy finds a misspelt operation and an operation of another request. mypy also checks the
# types of rows.
CODE = """
from penstock import actions
from penstock.sqs.uses import use_queue
from penstock.actions import Action
from penstock.effects import Call, Operation
from penstock.postgres.statements.queues import DESCRIBE_QUEUE
from penstock.sqs import types as sqs

queues = actions.penstock.sqs.queues
Action("sqs", "DeleteQueue", sqs.DeleteQueueRequest, None, queues.delete_queue, use_queue)
Action("sqs", "DeleteQueue", sqs.DeleteQueueRequest, None, queues.delet_queue, use_queue)
Action("sqs", "DeleteQueue", sqs.DeleteQueueRequest, None, queues.create_queue, use_queue)
Action("sqs", "DeleteQueue", sqs.DeleteQueueRequest, sqs.TagQueueRequest, queues.delete_queue, use_queue)
Action("sqs", "CreateQueue", sqs.CreateQueueRequest, sqs.CreateQueueResult, queues.create_queue, use_queue)


def describe() -> Operation[str]:
    rows = yield from Call(DESCRIBE_QUEUE, ("arn", False))
    reveal_type(rows)
    return rows[0].nam
"""
EXPECTED = {
    11: "attr-defined",  # the operation does not exist
    12: "arg-type",  # the operation belongs to another request
    13: "arg-type",  # the operation has another result
    14: "arg-type",  # the request does not name this resource
    19: "list[penstock.postgres.statements.queues.QueueRow]",
    20: "attr-defined",  # the column does not exist
}


def test_the_seams_are_typed(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """mypy checks the names in the table with a separate cache, because another mypy process can run at the same
    time. The next run of the tests uses the cache again."""
    cache = pytestconfig.cache.mkdir("mypy")
    path = tmp_path / "seams.py"
    path.write_text(CODE)
    command = [sys.executable, "-m", "mypy", "--implicit-reexport", "--cache-dir", str(cache), str(path)]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    said: dict[str, str] = {}
    for line, text in re.findall(r"seams\.py:(\d+): (.*)", output):
        said[line] = said.get(line, "") + text
    assert {int(line) for line in said} == set(EXPECTED), output
    for number, expected in EXPECTED.items():
        assert expected in re.sub(r"tuple\[.*fallback=([\w.]+)\]", r"\1", said[str(number)]), output


# --- rows ------------------------------------------------------------------------------------------------------------
# The layers read a database row's columns by name, never by position.
#
# Only `penstock.postgres` and `penstock_web.database`, which create the rows, use positions. Within a function, the
# check follows the result of a database call through the names that it is assigned to. The check treats parameters
# named `row` and `rows` as rows.
LAYERS = ROOT / "layers"
MAKERS = ("core/penstock/postgres/", "web/penstock_web/database/")
EFFECTS = {"Call", "BatchCall", "Transact", "Receive"}
CALLS = {"call", "_call", "fetch"}
SAME_ROWS = {"sorted", "list", "reversed", "tuple"}
Function = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.AsyncFor | ast.comprehension


class Scope:
    """Lists which names of a function mean rows: `rows` is a list of rows, and `row` is a single row."""

    def __init__(self, function: Function) -> None:
        self._nodes = list(ast.walk(function))
        names = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
        self.rows, self.row = names & {"rows"}, names & {"row"}
        for _ in range(3):  # A name that a loop assigns can be used earlier in the loop's body.
            for node in self._nodes:
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
        match node:
            case ast.Name(id=name):
                return name in self.row
            case ast.Subscript(value=value, slice=index):
                return _counts(index) and not isinstance(index, ast.Slice) and self.are_rows(value)
        return False

    def findings(self) -> Iterator[int]:
        """Yields the lines that count columns."""
        for node in self._nodes:
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
    """Returns whether a subscript is a whole number or a slice."""
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
def test_a_statement_that_counts_no_columns_is_not_found(line: str) -> None:
    assert lines_that_count_columns(f"def f(self, arn):\n    {line}") == []


def test_no_string_depends_on_standard_conforming_strings() -> None:
    """Each backslash is inside E'…' or $re$…$re$, because an application's session decides its meaning in '…'."""
    token = re.compile(r"--[^\n]*|\$re\$.*?\$re\$|\b[eE]'(?:[^'\\]|''|\\.)*'|'(?:[^']|'')*'", re.DOTALL)
    found = [
        (path.name, literal)
        for path in find_sql_directory().rglob("*.sql")
        for literal in token.findall(path.read_text())
        if literal.startswith("'") and "\\" in literal and path.name != "schema.sql"
    ]
    assert found == []


def test_the_longest_delay_is_that_of_python() -> None:
    """SQL repeats MAX_DELAY_SECONDS as a literal, because a call of a function would cost every send."""
    found = {
        (path.name, int(number))
        for path in (find_sql_directory() / "functions").rglob("*.sql")
        for line in re.sub("--[^\n]*", "", path.read_text()).splitlines()
        if re.search("delay", line, re.IGNORECASE)
        for number in re.findall(r"\b[0-9]{3,4}\b", line)
    }
    files = ("queue.publish_event.sql", "queue.send_documents.sql", "queue.send_later.sql", "queue.transact.sql",
             "queue_definitions.sql")  # fmt: skip
    assert found == {(name, MAX_DELAY_SECONDS) for name in files}


# PostgreSQL does not use an index for a comparison with clock_timestamp(), which is volatile. It does for a comparison
# with (select clock_timestamp()). These files find the row by a key first.
BY_KEY = {
    "access_keys.sql",
    "queue.change_visibilities.sql",
    "delivery_lists.sql",
    "queue.receive_response.sql",
}


def test_indexed_times_are_compared_with_constants(database: Database) -> None:
    with psycopg.connect(database.dsn) as connection:
        query = """
            select distinct a.attname from pg_index i join pg_attribute a on a.attrelid = i.indexrelid
            where a.atttypid = 'timestamptz'::regtype and i.indrelid::regclass::text like 'queue.%'"""
        columns = [str(name) for (name,) in connection.execute(query)]
    assert len(columns) > 10
    comparison = re.compile(rf"\b(?!v_)\w+\.(?:{'|'.join(columns)}) *[<>]=? *clock_timestamp\(\)")
    found = [
        (path.name, line.strip())
        for path in find_sql_directory().rglob("*.sql")
        for line in path.read_text().splitlines()
        if comparison.search(line.partition("--")[0]) and path.name not in BY_KEY
    ]
    assert found == []
