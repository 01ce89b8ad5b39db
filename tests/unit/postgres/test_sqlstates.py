"""What SQLSTATEs mean, beside PostgreSQL's own names for them, psycopg's classes and what our SQL functions raise."""

from __future__ import annotations

import re

import psycopg
import pytest
from psycopg import errors

from penstock.postgres.migrations import find_sql_directory
from penstock.postgres.sqlstates import INTERNAL_ERROR, SQLSTATES, Meaning, find_meaning

# Every SQLSTATE that psycopg knows, from PostgreSQL's errcodes.txt.
KNOWN: dict[str, type[psycopg.Error]] = {
    kind.sqlstate: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, psycopg.Error) and isinstance(kind.sqlstate, str)
}
OUR_CLASS = "QU"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("SerializationFailure", Meaning.ROLLED_BACK),
        ("DeadlockDetected", Meaning.ROLLED_BACK),
        ("LockNotAvailable", Meaning.LOCKED),
        ("ReadOnlySqlTransaction", Meaning.READ_ONLY),
        ("ConnectionFailure", Meaning.CONNECTION_LOST),
        ("AdminShutdown", Meaning.CONNECTION_LOST),
        ("CrashShutdown", Meaning.CONNECTION_LOST),
        ("CannotConnectNow", Meaning.CONNECTION_LOST),
        ("IdleSessionTimeout", Meaning.CONNECTION_LOST),
        ("QueryCanceled", Meaning.UNAVAILABLE),
        ("TooManyConnections", Meaning.UNAVAILABLE),
        ("DiskFull", Meaning.UNAVAILABLE),
        ("InvalidPassword", Meaning.LOGIN_REFUSED),
        ("InvalidSqlStatementName", Meaning.STALE_STATEMENT),
        ("FeatureNotSupported", Meaning.STALE_STATEMENT),
        ("UndefinedFunction", Meaning.NOT_INSTALLED),
        ("InsufficientPrivilege", Meaning.NOT_INSTALLED),
        ("InvalidSchemaName", Meaning.NOT_INSTALLED),
        ("UniqueViolation", Meaning.FAILED),
        ("CharacterNotInRepertoire", Meaning.FAILED),
        ("ObjectInUse", Meaning.FAILED),
    ],
)
def test_errors_by_their_names(name: str, expected: Meaning) -> None:
    assert find_meaning(getattr(errors, name).sqlstate) is expected


def test_the_server_that_says_nothing_hung_up() -> None:
    assert find_meaning(None) is Meaning.CONNECTION_LOST
    assert find_meaning("") is Meaning.FAILED


@pytest.mark.parametrize("sqlstate", [state for state in SQLSTATES if state != OUR_CLASS])
def test_postgresql_has_what_the_table_names(sqlstate: str) -> None:
    if len(sqlstate) == 5:
        assert errors.lookup(sqlstate).sqlstate == sqlstate
    else:
        assert any(state.startswith(sqlstate) for state in KNOWN)


def test_postgresql_has_no_class_of_ours() -> None:
    assert not any(state.startswith(OUR_CLASS) for state in KNOWN)
    assert errors.lookup(INTERNAL_ERROR) is errors.InternalError_


def test_what_is_temporary_is_no_fault_of_the_call() -> None:
    """psycopg's OperationalError: "errors related to the database's operation, not under the programmer's control"."""
    temporary = {state: kind for state, kind in KNOWN.items() if find_meaning(state).is_temporary}
    assert len(temporary) > 20
    others = {state for state, kind in temporary.items() if not issubclass(kind, psycopg.OperationalError)}
    assert others == {errors.ReadOnlySqlTransaction.sqlstate}


@pytest.mark.parametrize("found", Meaning)
def test_what_may_be_made_again_may_succeed(found: Meaning) -> None:
    assert found.is_temporary or not (found.took_no_effect or found.ends_connection)


def test_what_sql_functions_raise_has_a_meaning() -> None:
    texts = [file.read_text() for file in find_sql_directory().rglob("functions/**/*.sql")]
    raised = {state for text in texts for state in re.findall(r"errcode = '(\w{5})'", text)}
    assert {state for state in raised if find_meaning(state) is Meaning.REFUSED} >= {"QU001", "QU003"}
    assert {find_meaning(state) for state in raised} == {Meaning.REFUSED, Meaning.ROLLED_BACK}
