"""Manages the users and keys of the caller's account.

A user who can create users or keys can obtain every permission, as with IAM. `admin` is the only built-in policy that
allows creating users and keys. A key of the account itself can do everything. Only a key of the account itself can
create another key of the account itself.
"""

from datetime import UTC, datetime
from typing import Annotated, Final, Literal

import msgspec

from penstock import errors
from penstock.access.audit.acts import Act, audited
from penstock.access.authorization import check_user
from penstock.access.keys import CreatedKey, build_key, is_user_name
from penstock.access.users import Actor, build_owner_arn, build_user_arn
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.access import (
    CREATE_FIRST_KEY,
    CREATE_KEY,
    END_USER,
    LIMIT_KEY,
    LIST_AUDIT,
    LIST_KEYS,
    LIST_USERS,
    REVOKE_KEY,
    SET_USER,
    AuditRow,
    KeyRow,
    UserRow,
)

from .errors import AccessIsOff, KeyNotFound, UserNotFound
from .policies import find_policy_problem
from .rights import needs

USER_NAME: Final = "[A-Za-z0-9_+=,.@-]{1,64}"
MAX_POLICIES: Final = 10


class ShownUser(msgspec.Struct):
    """A user of the account."""

    name: str
    policies: list[str]
    created_at: datetime


class NewKey(msgspec.Struct, forbid_unknown_fields=True):
    """The request for a new key. A `bearer` key is for the REST API; other keys are for the AWS APIs.

    If `user` is missing, the key belongs to the account itself. `expires_at` is a future time with an offset, or null
    if the key does not expire.
    """

    bearer: bool = False
    user: Annotated[str, msgspec.Meta(pattern=f"^{USER_NAME}$")] | None = None
    description: Annotated[str, msgspec.Meta(max_length=256)] = ""
    expires_at: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


class ShownKey(msgspec.Struct):
    """A key without its secret. `last_used_at` is accurate to a minute."""

    id: str
    kind: Literal["access", "bearer"]
    user: str | None
    description: str
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None


class MadeKey(msgspec.Struct):
    """A new key. Only this response shows the secret. The `token` of a bearer key follows `Authorization: Bearer`."""

    id: str
    secret: str
    token: str | None


def show_user(row: UserRow) -> ShownUser:
    return ShownUser(row.name, list(row.policies), row.created_at)


def show_key(row: KeyRow) -> ShownKey:
    return ShownKey(
        row.key_id, "bearer" if row.kind == "bearer" else "access", row.user_name, row.description, row.created_at,
        row.last_used_at, row.expires_at, row.revoked_at,
    )  # fmt: skip


def check_access_is_on(context: Context) -> None:
    """Raises AccessIsOff if access control is off. Otherwise anyone could create keys that stay valid after access
    control is switched on."""
    if context.environment.settings.queue_access != "sigv4":
        raise AccessIsOff


@needs("account", "penstock:ReadKeys")
def list_users(context: Context) -> Operation[list[ShownUser]]:
    """Returns the users in the order of their names."""
    rows = yield from Call(LIST_USERS, (context.account_id,))
    return [show_user(row) for row in rows]


@needs("user", "penstock:SetUser")
def set_user(name: str, policies: list[str], context: Context) -> Operation[bool]:
    """Creates a user, or replaces the user's policies. Returns whether the user is new. Raises
    InvalidParameterValue."""
    check_access_is_on(context)
    return (yield from store_user(name, policies, context))


@needs("user", "penstock:EndUser")
def end_user(name: str, context: Context) -> Operation[None]:
    """Revokes a user's keys and deletes the user. Raises UserNotFound."""
    check_access_is_on(context)
    yield from drop_user(name, context)


@needs("account", "penstock:ReadKeys")
def list_keys(context: Context) -> Operation[list[ShownKey]]:
    """Returns the keys, oldest first."""
    rows = yield from Call(LIST_KEYS, (context.account_id,))
    return [show_key(row) for row in rows]


@needs("operation", "penstock:CreateKey")
def create_key(new: NewKey, context: Context) -> Operation[MadeKey]:
    """Creates a key. A user has up to two keys of each kind.

    Raises AccessDenied, InvalidParameterValue, UserNotFound, OverLimit.
    """
    check_access_is_on(context)
    check_expiry(new.expires_at)
    check_user("penstock", "CreateKey", build_owner_arn(new.user, context.account_id), context)
    if new.user is None and not context.caller.principal.is_root:
        raise errors.AccessDenied("Only a key of the account itself can create another such key. Name a user.")
    return (yield from add_key(new, context.environment.settings.queue_encryption_key, context))


@needs("operation", "penstock:LimitKey")
def limit_key(key_id: str, expires_at: datetime | None, context: Context) -> Operation[None]:
    """Sets when a key expires. Raises KeyNotFound, InvalidParameterValue."""
    check_access_is_on(context)
    check_expiry(expires_at)
    yield from _read_key("LimitKey", key_id, context)
    yield from store_expiry(key_id, expires_at, context)


@needs("operation", "penstock:RevokeKey")
def revoke_key(key_id: str, context: Context) -> Operation[None]:
    """Revokes a key. Raises KeyNotFound."""
    check_access_is_on(context)
    yield from _read_key("RevokeKey", key_id, context)
    yield from store_revocation(key_id, context)


def check_expiry(expires_at: datetime | None) -> None:
    """Raises InvalidParameterValue for a past time."""
    if expires_at is not None and expires_at <= datetime.now(UTC):
        raise errors.InvalidParameterValue("expires_at is over")


def _read_key(action: str, key_id: str, context: Context) -> Operation[KeyRow]:
    """Returns the account's key. Only a key of the account itself can access another key of the account. Raises
    KeyNotFound, AccessDenied."""
    rows = yield from Call(LIST_KEYS, (context.account_id,))
    for row in rows:
        if row.key_id == key_id:
            check_user("penstock", action, build_owner_arn(row.user_name, context.account_id), context)
            if row.user_name is None and not context.caller.principal.is_root:
                raise errors.AccessDenied("Only a key of the account itself can change another such key.")
            return row
    raise KeyNotFound


# --- changes without a check of rights -------------------------------------------------------------------------------
# Commands that use the database also perform these operations.
@audited(
    lambda name, policies, actor: Act(
        "penstock:SetUser", build_user_arn(actor.account_id, name), {"policies": policies}
    )
)
def store_user(name: str, policies: list[str], actor: Actor) -> Operation[bool]:
    """Creates a user, or replaces the user's policies. Returns whether the user is new. Raises
    InvalidParameterValue."""
    if not is_user_name(name):
        raise errors.InvalidParameterValue(f"a user's name has 1 to 64 of A-Z a-z 0-9 _ + = , . @ -, not {name!r}")
    check_policies(policies)
    (row,) = yield from Call(SET_USER, (actor.account_id, name, policies))
    return row.created


def check_policies(policies: list[str]) -> None:
    """Raises InvalidParameterValue for a text that is not a user's policy, and for more than ten policies."""
    if len(policies) > MAX_POLICIES:
        raise errors.InvalidParameterValue(f"a user has at most {MAX_POLICIES} policies")
    for policy in policies:
        if problem := find_policy_problem(policy):
            raise errors.InvalidParameterValue(problem)


@audited(lambda name, actor: Act("penstock:EndUser", build_user_arn(actor.account_id, name)))
def drop_user(name: str, actor: Actor) -> Operation[None]:
    """Revokes a user's keys and deletes the user. Raises UserNotFound."""
    (row,) = yield from Call(END_USER, (actor.account_id, name))
    if not row.found:
        raise UserNotFound


def add_key(new: NewKey, encryption_key: str, actor: Actor) -> Operation[MadeKey]:
    """Creates a key. Raises InvalidParameterValue, UserNotFound, OverLimit. Raises SettingError for an access key if
    the service has no encryption key."""
    if "\0" in new.description:
        raise errors.InvalidParameterValue("description: NUL cannot be stored")
    made = build_key(bearer=new.bearer, account_id=actor.account_id, encryption_key=encryption_key)
    yield from _store_key(new, made, actor)
    return MadeKey(made.key_id, made.secret, f"{made.key_id}.{made.secret}" if new.bearer else None)


def _describe_new_key(new: NewKey, made: CreatedKey, actor: Actor) -> Act:
    details = {"bearer": new.bearer, "key": made.key_id}
    return Act("penstock:CreateKey", build_owner_arn(new.user, actor.account_id), details)


@audited(_describe_new_key)
def _store_key(new: NewKey, made: CreatedKey, actor: Actor) -> Operation[None]:
    kind = "bearer" if new.bearer else "access"
    (row,) = yield from Call(
        CREATE_KEY, (kind, made.key_id, actor.account_id, made.stored, new.description, new.user, new.expires_at)
    )
    if row.error == "UnknownUser":
        raise UserNotFound
    if row.error == "TooManyKeys":
        raise errors.OverLimit(f"The user has two {kind} keys: revoke one first.")
    if not row.created:
        raise errors.ServiceUnavailable  # another key has this id, which has 80 random bits


def add_first_key(encryption_key: str, actor: Actor) -> Operation[MadeKey | None]:
    """Creates an access key of the account itself. Returns None if the installation has had a key before. Raises
    SettingError if the service has no encryption key."""
    made = build_key(bearer=False, account_id=actor.account_id, encryption_key=encryption_key)
    is_created = yield from _store_first_key(NewKey(description="the first key"), made, actor)
    return MadeKey(made.key_id, made.secret, None) if is_created else None


@audited(_describe_new_key)
def _store_first_key(new: NewKey, made: CreatedKey, actor: Actor) -> Operation[bool]:
    (row,) = yield from Call(CREATE_FIRST_KEY, (made.key_id, actor.account_id, made.stored, new.description))
    return row.created


@audited(
    lambda key_id, expires_at, _actor: Act(
        "penstock:LimitKey", key_id, {"expires_at": None if expires_at is None else expires_at.isoformat()}
    )
)
def store_expiry(key_id: str, expires_at: datetime | None, _actor: Actor) -> Operation[None]:
    """Sets when a key of the actor's account expires. Raises KeyNotFound."""
    rows = yield from Call(LIMIT_KEY, (key_id, expires_at))
    if not any(row.found for row in rows):
        raise KeyNotFound


@audited(lambda key_id, _actor: Act("penstock:RevokeKey", key_id))
def store_revocation(key_id: str, _actor: Actor) -> Operation[None]:
    """Revokes a key of the actor's account. Raises KeyNotFound."""
    rows = yield from Call(REVOKE_KEY, (key_id,))
    if not any(row.revoked for row in rows):
        raise KeyNotFound


# --- the audit log ---------------------------------------------------------------------------------------------------
@needs("account", "penstock:ReadAudit")
def read_audit(before: int | None, limit: int, context: Context) -> Operation[list[AuditRow]]:
    """Returns up to `limit` rows of the account's audit log, the newest first."""
    return (yield from Call(LIST_AUDIT, (context.account_id, before, limit, None, None)))


@needs("account", "penstock:ReadAudit")
def find_deletion(action: str, target: str, context: Context) -> Operation[AuditRow | None]:
    """Returns the newest row of the audit log about a deletion, or None. `action` is the action of the deletion.
    `target` is the ARN of the resource, or the part of the ARN before a slash and a random id.
    """
    rows = yield from Call(LIST_AUDIT, (context.account_id, None, 1, action, target))
    return rows[0] if rows else None
