"""Records user actions in the audit log. Each action writes one row in its own transaction.

    @audited(lambda request, context: Act("sqs:DeleteQueue", context.queue_arn(request.queue_url)))
    def delete_queue(request: DeleteQueueRequest, context: Context) -> Operation[None]: ...

The operation itself does not change. The decorator replaces the first call of a function in ACTS with one statement
that calls the function and `queue.write_audit`. An action that is refused, fails or changes nothing writes no row.
`refusals.py` counts refused requests. Sending, receiving and deleting messages is not audited.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial, wraps
from typing import Any, Final, Generic, ParamSpec, Protocol, TypeVar, cast

import msgspec
from msgspec.structs import force_setattr

from penstock.access.users import User
from penstock.calls import build_call
from penstock.effects import BatchCall, Call, Effect, Operation
from penstock.postgres.statement import Row, Statement
from penstock.postgres.statements.access import WRITE_AUDIT

T = TypeVar("T")
P = ParamSpec("P")
RowT = TypeVar("RowT", bound=Row)

# Matches a NUL in JSON, but not after an escaped backslash. PostgreSQL does not store NUL.
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000").sub
LONGEST_TARGET = 2_048
LONGEST_DETAILS = 16_384
"""The limit for the JSON of `details`, in bytes. Longer details are dropped."""

ACTS: Final = frozenset(
    f"queue.{name}"
    for name in (
        "add_sandbox_number", "add_subscription", "bind", "cancel_move_task", "change_topic", "confirm_subscription",
        "continue_move_task", "create_first_key", "create_key", "create_mapping", "create_platform_application",
        "create_platform_endpoint", "create_queue", "create_topic", "delete_by_id", "drop_mapping",
        "drop_platform_application", "drop_platform_endpoint", "drop_queue", "drop_sandbox_number", "drop_schedule",
        "drop_schedule_once", "drop_subscription", "drop_topic", "end_user", "limit_key", "open_console_session",
        "opt_in", "opt_out", "pause_delivery_endpoint", "publish_messages", "purge_messages", "put_schedule",
        "put_schedule_group", "replace_policy", "replace_topic_policy", "resume_delivery_endpoint",
        "retry_deliveries", "retry_delivery", "revoke_key", "run_schedule", "send_messages", "send_test_webhook",
        "set_platform_application", "set_platform_endpoint", "set_queue_attributes", "set_subscription_attributes",
        "set_user", "sms_attributes", "start_move_task", "sync_schedules", "tag_mapping", "tag_queue",
        "tag_schedule_group", "tag_topic", "unbind", "untag_queue", "untag_schedule_group", "untag_topic",
        "update_mapping", "verify_sandbox_number",
    )
)  # fmt: skip
"""The SQL functions that change data. The first one that an operation calls writes the audit row."""
UNDONE: Final = ("replaced", "dropped", "found", "revoked", "known", "removed", "continued")
"""The function changed nothing if one of these columns is false in a returned row."""


class Act(msgspec.Struct, frozen=True):
    """A user action. `action` is its name in policies; `target` is an ARN or another name.

    `details` describes the request. `when_changed` suppresses the row if no value changed. `counted` names the column
    of the first row that contains the number of affected items. An empty `counted` means one item; `*` counts the
    rows.
    """

    action: str
    target: str
    details: Mapping[str, object] = {}
    when_changed: bool = False
    counted: str = ""


class Actor(Protocol):
    """The part of `Context` that identifies the caller."""

    @property
    def account_id(self) -> str: ...
    @property
    def user(self) -> User | None: ...
    @property
    def key_id(self) -> str | None: ...
    @property
    def client_address(self) -> str: ...
    @property
    def interface_name(self) -> str: ...


def audited(describe: Callable[..., Act]) -> Callable[[Callable[P, Operation[T]]], Callable[P, Operation[T]]]:
    """Decorates an operation that the audit records. `describe` gets the operation's arguments, which include the
    context."""

    def decorate(function: Callable[P, Operation[T]]) -> Callable[P, Operation[T]]:
        @wraps(function)
        def operation(*arguments: P.args, **named: P.kwargs) -> Operation[T]:
            act = partial(describe, *arguments, **named)
            actor = find_context(arguments, named)
            return (yield from record_act(act, function(*arguments, **named), actor))

        operation.__dict__["penstock_act"] = describe
        return operation

    return decorate


def find_context(arguments: Sequence[object], named: Mapping[str, object]) -> Actor:
    given = (*arguments[::-1], *named.values())
    return cast("Actor", next(one for one in given if hasattr(one, "interface_name")))


def record_act(act: Act | Callable[[], Act], operation: Operation[T], actor: Actor) -> Operation[T]:
    """Runs an operation and adds the audit row to its first change. Raises the operation's errors.

    `act` can be a function. The function is called after the operation has validated the request.
    """
    is_recorded = False
    result: Any = None
    try:
        while True:
            effect = operation.send(result)
            effect = (None if is_recorded else add_audit(effect, act, actor)) or effect
            result = yield effect
            is_recorded = is_recorded or (is_audited(effect) and is_done(result))
    except StopIteration as end:
        value: T = end.value
        return value


def is_audited(effect: Effect[Any]) -> bool:
    """Returns whether the effect writes an audit row."""
    return isinstance(effect, Call) and isinstance(effect.statement, AuditedStatement)


def is_done(rows: list[Row]) -> bool:
    """Returns whether the rows report a change. `queue.write_audit` applies the same rule."""
    if not rows:
        return False
    row = rows[0]
    return getattr(row, "error", None) is None and all(getattr(row, name, True) for name in UNDONE)


def add_audit(effect: Effect[Any], described: Act | Callable[[], Act], actor: Actor) -> Call[Row] | None:
    """Returns a call that also writes the audit row, or None if the effect changes nothing."""
    if not isinstance(effect, Call | BatchCall) or effect.statement.name not in ACTS:
        return None
    if isinstance(effect.statement, AuditedStatement):  # a nested operation already writes the audit row
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
        account_id, interface, actor, key_id, clean(address), act.action, clean(act.target)[:LONGEST_TARGET],
        details if len(details) <= LONGEST_DETAILS else "{}", act.when_changed,
    )  # fmt: skip


def clean(text: str) -> str:
    """Removes the characters that PostgreSQL cannot store."""
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()


class AuditedStatement(Statement[RowT], Generic[RowT], frozen=True, eq=False):
    """A statement that also writes an audit row."""


@lru_cache(maxsize=256)
def extend_statement(statement: Statement[RowT], counted: str) -> Statement[RowT]:
    """Returns a statement that returns the same rows, and writes an audit row if the function changed something.

    `queue.audited_state` is a stable function, so it returns the state before the statement.
    """
    kinds = WRITE_AUDIT.types[:9]
    first = len(statement.types) + 1
    marks = [f"${first + n}::{kind}" for n, kind in enumerate(kinds)]
    count = {"": "1", "*": "(select count(*) from act)"}.get(
        counted,
        f"(select (to_jsonb(a) ->> '{counted}')::int8 from act a limit 1)",  # noqa: S608 - a constant
    )
    before = f"queue.audited_state({marks[6]})"
    result = "(select to_jsonb(a) from act a limit 1)"
    fields = statement.row.__annotations__
    columns = ", ".join(f'act."{field}"' for field in fields) if len(fields) > 1 else "act.*"
    text = (
        f"with act as materialized ({statement.text}), "  # noqa: S608 - constants only
        "noted as materialized (select count(*) from "
        f"queue.write_audit({', '.join(marks)}, {count}, {before}, {result})) "
        f"select {columns} from act, noted"
    )
    extended = AuditedStatement(statement.name, (*statement.types, *kinds), statement.row)
    force_setattr(extended, "text", text)
    return extended
