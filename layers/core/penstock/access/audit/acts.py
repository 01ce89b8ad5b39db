"""Records user actions in the audit log. Each action writes one row in its own transaction.

    @audited(lambda request, context: Act("sqs:DeleteQueue", context.queue_arn(request.queue_url)))
    def delete_queue(request: DeleteQueueRequest, context: Context) -> Operation[None]: ...

The decorator replaces the operation's first call of an audited statement (`Statement.is_audited`) with one statement
that calls the function and `queue.write_audit`. The decorator writes no row for an action that is refused, fails or has
no effect. `refusals.py` counts refused requests. The audit log omits actions that send, receive or delete messages.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial, wraps
from typing import Any, Generic, ParamSpec, TypeVar

import msgspec

from penstock.access.users import Actor
from penstock.calls import build_call
from penstock.effects import BatchCall, Call, Effect, Operation
from penstock.postgres.statement import Row, Statement
from penstock.postgres.statements.access import WRITE_AUDIT

T = TypeVar("T")
P = ParamSpec("P")
RowT = TypeVar("RowT", bound=Row)

# Matches a NUL in JSON, but not after an escaped backslash. PostgreSQL cannot store NUL in a text.
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000").sub
MAX_TARGET_LENGTH = 2_048
MAX_DETAILS_LENGTH = 16_384
"""The limit for the JSON of `details`, in bytes. The audit row omits longer details."""


class Act(msgspec.Struct, frozen=True):
    """A user action. `action` is the action's name in policies. `target` is an ARN or another name.

    `details` describes the request. `when_changed` suppresses the row if no value changed. `counted` is the column of
    the first row that contains the number of affected items. If `counted` is empty, the action affects one item. If
    `counted` is `*`, the action affects one item per row.
    """

    action: str
    target: str
    details: Mapping[str, object] = {}
    when_changed: bool = False
    counted: str = ""


def audited(describe: Callable[..., Act]) -> Callable[[Callable[P, Operation[T]]], Callable[P, Operation[T]]]:
    """Decorates an operation whose changes the audit log records. `describe` receives the operation's arguments, which
    include the context."""

    def decorate(function: Callable[P, Operation[T]]) -> Callable[P, Operation[T]]:
        @wraps(function)
        def operation(*arguments: P.args, **named: P.kwargs) -> Operation[T]:
            act = partial(describe, *arguments, **named)
            actor = find_context(arguments, named)
            return (yield from record_act(act, function(*arguments, **named), actor))

        return operation

    return decorate


def find_context(arguments: Sequence[object], named: Mapping[str, object]) -> Actor:
    """Returns the context, which is one of the operation's arguments."""
    return next(given for given in (*arguments[::-1], *named.values()) if isinstance(given, Actor))


def record_act(act: Act | Callable[[], Act], operation: Operation[T], actor: Actor) -> Operation[T]:
    """Runs an operation. The operation's first change also writes the audit row. Raises the operation's errors.

    If `act` is a function, `record_act` calls `act` after the operation has validated the request.
    """
    is_recorded = False
    result: Any = None
    try:
        while True:
            effect = operation.send(result)
            effect = (None if is_recorded else add_audit(effect, act, actor)) or effect
            result = yield effect
            is_recorded = is_recorded or is_done(effect, result)
    except StopIteration as end:
        value: T = end.value
        return value


def is_done(effect: Effect[Any], rows: list[Row]) -> bool:
    """Returns whether the effect wrote an audit row, which happens only if the rows report a change."""
    if not (isinstance(effect, Call) and isinstance(effect.statement, AuditedStatement) and rows):
        return False
    changed = effect.statement.changed
    return getattr(rows[0], "error", None) is None and (not changed or getattr(rows[0], changed) is not False)


def add_audit(effect: Effect[Any], described: Act | Callable[[], Act], actor: Actor) -> Call[Row] | None:
    """Returns a call that also writes the audit row. Returns None if the effect makes no change, or if a nested
    operation already writes the row."""
    if not isinstance(effect, Call | BatchCall) or not effect.statement.is_audited:
        return None
    act = described if isinstance(described, Act) else described()
    statement, arguments = build_call(effect)
    values = build_values(
        act, actor.account_id, actor.interface_name, None if actor.user is None else actor.user.principal.arn,
        actor.key_id, actor.client_address,
    )  # fmt: skip
    return Call(extend_statement(statement, act.counted), (*arguments, *values))


def build_values(
    act: Act, account_id: str, interface: str, actor: str | None, key_id: str | None, address: str
) -> tuple[object, ...]:
    """Returns the arguments that an extended statement takes after the function's own arguments."""
    details = _NUL(r"\1\\ufffd", msgspec.json.encode(act.details).decode())
    return (
        account_id, interface, actor, key_id, clean(address), act.action, clean(act.target)[:MAX_TARGET_LENGTH],
        details if len(details) <= MAX_DETAILS_LENGTH else "{}", act.when_changed,
    )  # fmt: skip


def clean(text: str) -> str:
    """Replaces the characters that PostgreSQL cannot store."""
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()


class AuditedStatement(Statement[RowT], Generic[RowT], frozen=True, eq=False, kw_only=True):
    """A statement that returns the rows of `change`, and writes an audit row if this function made a change.

    `counted` is the column of `Act.counted`. `types` are the types of `change`, and then those of the audit row.
    """

    change: Statement[RowT]
    counted: str

    def build_text(self) -> str:
        """Returns the query. `queue.audited_state` is a stable function, so it returns the state before the query."""
        kinds = self.types[len(self.change.types) :]
        marks = [f"${n}::{kind}" for n, kind in enumerate(kinds, len(self.change.types) + 1)]
        count = {"": "1", "*": "(select count(*) from act)"}.get(
            self.counted,
            f"(select (to_jsonb(a) ->> '{self.counted}')::int8 from act a limit 1)",  # noqa: S608 - a constant
        )
        before = f"queue.audited_state({marks[6]})"
        changed = f" and coalesce((to_jsonb(a) ->> '{self.changed}')::bool, true)" if self.changed else ""
        is_change = f"(select to_jsonb(a) ->> 'error' is null{changed} from act a limit 1)"  # noqa: S608 - a constant
        fields = self.row.__annotations__
        columns = ", ".join(f'act."{field}"' for field in fields) if len(fields) > 1 else "act.*"
        return (
            f"with act as materialized ({self.change.text}), "  # noqa: S608 - constants only
            "noted as materialized (select count(*) from "
            f"queue.write_audit({', '.join(marks)}, {count}, {before}, {is_change})) "
            f"select {columns} from act, noted"
        )


@lru_cache(maxsize=256)
def extend_statement(statement: Statement[RowT], counted: str) -> Statement[RowT]:
    """Returns a statement that also writes an audit row."""
    types = (*statement.types, *WRITE_AUDIT.types[:9])
    return AuditedStatement(
        statement.name, types, statement.row, changed=statement.changed, change=statement, counted=counted
    )
