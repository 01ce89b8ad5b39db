"""Serves /v1/users and /v1/keys. Changes need QUEUE_ACCESS=sigv4."""

from datetime import datetime
from typing import Annotated

import msgspec
from fastapi import Path

from penstock import errors
from penstock.documents.decoding import build_reader
from penstock.management import access
from penstock.management.access import MAX_POLICIES, USER_NAME, MadeKey, NewKey, ShownKey, ShownUser
from penstock.management.errors import AccessIsOff, KeyNotFound, UserNotFound
from penstock.management.rights import right_of
from penstock_web.routing.routes import Routes, Runner

Policy = Annotated[str, msgspec.Meta(min_length=1)]


class UserPolicies(msgspec.Struct, forbid_unknown_fields=True):
    """Lists a user's policies, at most ten. A policy is `read`, `operate`, `admin`, or an IAM policy document as
    text."""

    policies: Annotated[list[Policy], msgspec.Meta(max_length=MAX_POLICIES)]


class KeyExpiry(msgspec.Struct, forbid_unknown_fields=True):
    """Holds the time when a key expires. If the time is null, the key never expires."""

    expires_at: Annotated[datetime, msgspec.Meta(tz=True)] | None


routes = Routes("access")

User = Annotated[str, Path(pattern=f"^{USER_NAME}$")]
KeyId = Annotated[str, Path(pattern="^[A-Z0-9]{20}$")]

_read_policies = build_reader(UserPolicies)
_read_key = build_reader(NewKey)
_read_expiry = build_reader(KeyExpiry)


@routes.get("/users", right=right_of(access.list_users), response=list[ShownUser])
async def list_users(runner: Runner) -> list[ShownUser]:
    """List the account's users by name, with their policies."""
    return await runner.run(access.list_users(runner.context))


@routes.put("/users/{user}", right=right_of(access.set_user), status=204, body=UserPolicies, raises=(AccessIsOff,))
async def set_user(user: User, runner: Runner) -> None:
    """Create a user, or replace a user's policies. Processes apply the change within QUEUE_ACCESS_CACHE_SECONDS."""
    wanted = await runner.read(_read_policies)
    await runner.run(access.set_user(user, wanted.policies, runner.context))


@routes.delete("/users/{user}", right=right_of(access.end_user), status=204, raises=(AccessIsOff, UserNotFound))
async def end_user(user: User, runner: Runner) -> None:
    """Revoke a user's keys and delete the user."""
    await runner.run(access.end_user(user, runner.context))


@routes.get("/keys", right=right_of(access.list_keys), response=list[ShownKey])
async def list_keys(runner: Runner) -> list[ShownKey]:
    """List the account's keys from the oldest to the newest, including revoked keys."""
    return await runner.run(access.list_keys(runner.context))


@routes.post(
    "/keys",
    right=right_of(access.create_key),
    status=201,
    body=NewKey,
    response=MadeKey,
    raises=(AccessIsOff, UserNotFound, errors.OverLimit),
)
async def create_key(runner: Runner) -> MadeKey:
    """Create a key. A user can have at most two keys of each kind."""
    new = await runner.read(_read_key)
    return await runner.run(access.create_key(new, runner.context))


@routes.patch(
    "/keys/{key}", right=right_of(access.limit_key), status=204, body=KeyExpiry, raises=(AccessIsOff, KeyNotFound)
)
async def limit_key(key: KeyId, runner: Runner) -> None:
    """Set or remove the time when a key expires."""
    expires_at = (await runner.read(_read_expiry)).expires_at
    await runner.run(access.limit_key(key, expires_at, runner.context))


@routes.delete("/keys/{key}", right=right_of(access.revoke_key), status=204, raises=(AccessIsOff, KeyNotFound))
async def revoke_key(key: KeyId, runner: Runner) -> None:
    """Revoke a key. Every process refuses the key after at most QUEUE_ACCESS_CACHE_SECONDS."""
    await runner.run(access.revoke_key(key, runner.context))
