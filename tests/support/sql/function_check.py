"""Checks all SQL functions without calling them: `python -m tests.support.sql.function_check` (in `make check`).

    files      A file's first function has the file's name, and no other file uses its other functions, which the file's
               head lists. A file that is named after a subject has only short functions. Comments begin with the
               function's name, and name only its parameters. A body has at most LONGEST_BODY lines.
    server     Every body compiles, with plpgsql.extra_errors = 'all' and in both passes of the migration runner.
    catalogue  Every function in the schema comes from exactly one file, without old overloads. Functions that run with
               their owner's rights set their search_path.
    records    Every name that jsonb_populate_record receives is a column of its table. PostgreSQL ignores other names.
    analysis   plpgsql_check finds no fault, if the server has this extension.

The program prints each fault. The exit code is 1 if the program found a fault.
"""

import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import psycopg
from psycopg.conninfo import make_conninfo

from penstock.postgres.migrations import MigrationError, find_sql_directory, migrate, read_functions
from penstock_web.local.binaries import Source
from penstock_web.local.postgres import running_postgres
from penstock_web.local.state import ephemeral_state
from penstock_web.local.system_account import SystemAccount
from tests.support.sql.statement_check import all_statements

_DEFINED = re.compile(r"^create (?:or replace )?(?:function|procedure)\s+([a-z_.]+)\s*\(", re.MULTILINE)
# Matches the removal of a previous release's function whose parameters have new names.
_DROP = re.compile(r"^drop function .*;$|^do \$\$ begin\b.*\n(?:    .*\n)+end \$\$;$", re.MULTILINE)
_PARAMETER = re.compile(r"\bp_[a-z0-9_]+")
_COMMENT = re.compile(r"--[^\n]*")
_BODY = re.compile(r"\bas (\$\w*\$)\n(.*?)\1", re.DOTALL)
_NAME = re.compile(r"\bqueue\.[a-z_0-9]+")
_RECORD = re.compile(r"\bjsonb_populate_record\(\w+::(queue\.\w+), ")
_CALL = re.compile(r"\b(jsonb_build_object|queue\.\w+)\(")
_COLUMNS = """
select c.oid::regclass::text, array_agg(a.attname::text) from pg_class c join pg_attribute a on a.attrelid = c.oid
where c.relnamespace = 'queue'::regnamespace and a.attnum > 0 group by 1
"""
# Functions that indexes and a trigger need, so that a release cannot change the functions.
_MADE_BY_MIGRATION = frozenset(
    {
        "queue.time_key",
        "queue.side_shard",
        "queue.fifo_shard",
        "queue.side_key",
        "queue.fifo_key",
        "queue.refuse_prepare",
    }
)

_OURS = """
select p.oid, p.oid::regprocedure::text, n.nspname || '.' || p.proname, l.lanname = 'plpgsql',
    p.prosecdef and not coalesce(p.proconfig::text like '%search_path=%', false)
from pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_language l on l.oid = p.prolang
where n.nspname = 'queue' order by 2
"""
LONGEST_LINE = 120
LONGEST_SHORT_FUNCTION = 40  # lines
LONGEST_BODY = 100  # lines
# Every send or receive runs these functions, and a further function call would slow it down.
LONG_BODIES = {"queue.send_messages", "queue.receive_messages", "queue.take_groups"}


def check_files(directory: Path) -> Iterator[str]:
    """Yields faults in the files of sql/functions and sql/former, and lines that are too long in all files of sql.

    A file `queue.NAME.sql` first defines the function with its name, and then functions that only this function uses or
    that belong to it. Other files can use a function that has a file, or that is in the file of a subject.
    """
    paths = sorted([*directory.glob("functions/**/*.sql"), *directory.glob("former/*.sql")])
    texts = {path: path.read_text() for path in paths}
    called = {path: set(_NAME.findall(_COMMENT.sub("", text))) for path, text in texts.items()}
    stated = {statement.name for _, statement in all_statements()}
    for path, text in texts.items():
        defined = _DEFINED.findall(text)
        if not path.stem.startswith("queue."):
            yield from (f"{path.name}: {finding}" for finding in check_subject(defined, text))
            continue
        first, others = (defined or [""])[0], defined[1:]
        if first != path.stem:
            yield f"{path.name}: defines {first or 'nothing'} first, not {path.stem}"
        for name in others:
            if not re.search(rf"This file also contains [^.]*\b{name.removeprefix('queue.')}\b", _joined_head(text)):
                yield f"{path.name}: its head does not list {name}"
            if name not in stated and _NAME.findall(_COMMENT.sub("", text)).count(name) == 1:
                yield f"{path.name}: neither it nor a statement uses {name}"
            for caller in (place for place, names in called.items() if name in names and place != path):
                yield f"{path.name}: {caller.name} uses {name}, which needs a file"
        yield from (f"{path.name}: {finding}" for finding in check_headers(defined, text))
    others = [path for folder in ("migrations", "views", ".") for path in sorted(directory.glob(f"{folder}/*.sql"))]
    yield from check_lines([*paths, *others])


def check_subject(defined: list[str], text: str) -> Iterator[str]:
    """Yields faults of a file with the short functions of one subject."""
    if not re.match(r"-- (?!queue\.).+\n\n-- queue\.", text):
        yield "does not begin with a line about its subject"
    for name, part in zip(defined, re.split("^create ", text, flags=re.MULTILINE)[1:], strict=True):
        if part.partition("\n\n-- queue.")[0].count("\n") > LONGEST_SHORT_FUNCTION:
            yield f"{name} is long, and needs a file"
    yield from check_headers(defined, text)


def _joined_head(text: str) -> str:
    """Returns the comment before a file's first function in one line."""
    return " ".join(line.removeprefix("--").strip() for line in text.partition("\ncreate ")[0].splitlines())


def check_lines(paths: list[Path]) -> Iterator[str]:
    for path in paths:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if len(line) > LONGEST_LINE:
                yield f"{path.name}:{number}: has {len(line)} characters, more than {LONGEST_LINE}"


def check_headers(names: list[str], text: str) -> Iterator[str]:
    """Yields faults in the comments before a file's functions."""
    parts = re.split("^create ", text, flags=re.MULTILINE)
    headers = [part.rpartition("\n\n")[2] for part in parts[:-1]]
    for name, header, definition in zip(names, headers, parts[1:], strict=True):
        if not re.match(rf"-- {re.escape(name)}: ", header):
            yield f"no comment that begins with '-- {name}: ' stands before the function"
        if not all(line.startswith("--") for line in _DROP.sub("", header).splitlines() if line):
            yield "something else than comments and drops stands before the function"
        yield from check_parameters(name, header, read_parameters(definition))
        body = _BODY.search(definition)
        lines = body[2].count("\n") if body else 0
        if lines > LONGEST_BODY and name not in LONG_BODIES:
            yield f"the body of {name} has {lines} lines, more than {LONGEST_BODY}: split it by subject"


def read_parameters(definition: str) -> list[str]:
    """Returns the names of a function's parameters, without its output parameters."""
    text, start = _COMMENT.sub("", definition), definition.index("(") + 1
    parameters, depth = [""], 1
    for character in text[start:]:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            break
        if character == "," and depth == 1:
            parameters.append("")
        else:
            parameters[-1] += character
    words = [parameter.split() for parameter in parameters if parameter.strip()]
    return [word[1] if word[0] in {"in", "inout", "variadic"} else word[0] for word in words if word[0] != "out"]


def check_parameters(name: str, header: str, parameters: list[str]) -> Iterator[str]:
    """Yields faults in the parameters that a function's comment names. A word such as p_a is a parameter's name."""
    comment = " ".join(line.removeprefix("--").strip() for line in header.splitlines())
    for missing in sorted(set(_PARAMETER.findall(comment)) - set(parameters)):
        yield f"the comment before {name} names {missing}, which is no parameter of it"


def check_server(dsn: str, superuser_dsn: str, directory: Path) -> Iterator[str]:
    """Yields faults that PostgreSQL reports in an empty database."""
    try:
        migrate(make_conninfo(dsn, options="-c plpgsql.extra_errors=all"), directory)
    except MigrationError as error:
        yield " ".join(str(error).split())
        return
    with psycopg.connect(superuser_dsn, autocommit=True) as connection:
        yield from check_catalogue(connection, directory)
        yield from check_records(dict(connection.execute(_COLUMNS).fetchall()), directory)
        yield from analyse(connection)


def check_catalogue(connection: psycopg.Connection[Any], directory: Path) -> Iterator[str]:
    """Yields faults in the catalogue after the migrations."""
    scripts = read_functions(directory)
    from_files = Counter(name for script in scripts for name in set(_DEFINED.findall(script.text.decode())))
    rows = connection.execute(_OURS).fetchall()
    for name, number in Counter(name for _, _, name, *_ in rows).items():
        if number > max(from_files[name], 1):
            yield f"{name}: {number} functions of that name"
        if name not in from_files and name not in _MADE_BY_MIGRATION:
            yield f"{name}: comes from no file in sql/functions"
    for _, signature, _, _, loose in rows:
        if loose:
            yield f"{signature}: runs as its owner and does not fix search_path"


def check_records(columns: dict[str, list[str]], directory: Path) -> Iterator[str]:
    """Yields names that jsonb_populate_record would ignore. `columns` has the columns of each table.

    The names are those of jsonb_build_object in the call, and in each function `queue.SUBJECT_columns` that the call
    contains.
    """
    texts = {path: _COMMENT.sub("", path.read_text()) for path in sorted(directory.glob("functions/**/*.sql"))}
    bodies = {
        name: part for text in texts.values()
        for name, part in zip(_DEFINED.findall(text), re.split(r"^create ", text, flags=re.MULTILINE)[1:], strict=True)
    }  # fmt: skip
    for path, text in texts.items():
        for match in _RECORD.finditer(text):
            names = read_names(read_arguments(text, match.end()), bodies)
            for name in sorted(set(names) - set(columns.get(match[1], names))):
                yield f"{path.name}: {name} is no column of {match[1]}"


def read_arguments(text: str, start: int) -> str:
    """Returns the text from `start` to the parenthesis that closes the call."""
    depth = 1
    for end in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if depth == 0:
            return text[start:end]
    return text[start:]


def read_names(text: str, bodies: Mapping[str, str]) -> Iterator[str]:
    """Yields the names of the JSON objects that an expression builds. Skips objects in the arguments of calls."""
    place = 0
    while match := _CALL.search(text, place):
        arguments = read_arguments(text, match.end())
        place = match.end() + len(arguments)
        if match[1] == "jsonb_build_object":
            yield from (argument.strip().strip("'") for argument in split_arguments(arguments)[::2])
        elif match[1].endswith("_columns") and match[1] in bodies:
            yield from read_names(bodies[match[1]].partition("$$")[2], bodies)


def split_arguments(text: str) -> list[str]:
    """Returns the arguments of a call."""
    arguments, depth = [""], 0
    for character in text:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(character, 0)
        if character == "," and depth == 0:
            arguments.append("")
        else:
            arguments[-1] += character
    return arguments


def analyse(connection: psycopg.Connection[Any]) -> Iterator[str]:
    """Yields plpgsql_check's reports. Yields no reports if the extension is missing."""
    available = connection.execute("select from pg_available_extensions where name = 'plpgsql_check'").fetchone()
    if available is None:
        return
    connection.execute("create extension if not exists plpgsql_check")
    for oid, signature, _, is_plpgsql, _ in connection.execute(_OURS).fetchall():
        if is_plpgsql:
            check = "select * from plpgsql_check_function(%s::regprocedure, performance_warnings => false)"
            for (line,) in connection.execute(check, (oid,)).fetchall():
                yield f"{signature}: {line}"


def findings(directory: Path) -> Iterator[str]:
    """Yields all faults of the functions in a folder like sql/."""
    yield from check_files(directory)
    source = cast("Source", os.environ.get("PENSTOCK_TEST_POSTGRES", "any"))
    settings = {"fsync": "off", "full_page_writes": "off"}
    with ephemeral_state() as state, running_postgres(state, SystemAccount.choose(), source, settings) as server:
        yield from check_server(server.service_dsn(), server.superuser_dsn("penstock"), directory)


def main() -> int:
    """Prints all faults. Returns 1 if the check found a fault."""
    found = list(findings(find_sql_directory()))
    for finding in found:
        sys.stdout.write(f"{finding}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
