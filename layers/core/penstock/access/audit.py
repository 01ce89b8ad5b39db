"""Records users' actions. It writes a row before an action begins, and its outcome afterwards.

An action without an outcome was interrupted, and may have taken effect.
"""

import re
from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

import msgspec

from penstock.effects import Call, Operation
from penstock.errors import AwsError
from penstock.postgres.statements.access import BEGIN_AUDIT, SETTLE_AUDIT

from .users import User

T = TypeVar("T")

LONGEST_ERROR = 500
# NUL as JSON writes it, which PostgreSQL does not store, unless the backslash is escaped.
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000").sub


class Act(msgspec.Struct, frozen=True):
    """An action: its name in policies, and its target."""

    action: str
    target: str
    filter: Mapping[str, object] = {}


class Actor(Protocol):
    """The user who acts: a part of `Context`."""

    @property
    def account_id(self) -> str: ...
    @property
    def caller(self) -> User: ...
    @property
    def client_address(self) -> str: ...


def record_act(
    act: Act,
    operation: Operation[T],
    count: Callable[[T], int | None],
    actor: Actor,
    key_id: str | None,
) -> Operation[T]:
    """Runs an operation and records its user and the number of affected items, which `count` finds in its result.

    Raises the errors of the operation.
    """
    (row,) = yield from Call(
        BEGIN_AUDIT,
        (
            actor.account_id,
            actor.caller.principal.arn or "",
            key_id,
            actor.client_address,
            act.action,
            act.target.replace("\0", "\ufffd"),
            _NUL(r"\1\\ufffd", msgspec.json.encode(act.filter).decode()),
        ),
    )
    try:
        result = yield from operation
    except AwsError as error:
        text = error.message[:LONGEST_ERROR].replace("\0", "\ufffd").encode(errors="replace").decode()
        yield from Call(SETTLE_AUDIT, (row.audit_id, None, text))
        raise
    yield from Call(SETTLE_AUDIT, (row.audit_id, count(result), None))
    return result
