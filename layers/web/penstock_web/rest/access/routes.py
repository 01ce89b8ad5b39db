"""/v1/users and /v1/keys: who may do what, with QUEUE_ACCESS=sigv4."""

from typing import Annotated

import msgspec
from fastapi import APIRouter, Path, Response

from penstock.audit import Act
from penstock_web.rest.documents import decode_document
from penstock_web.rest.openapi import json_answers, request_body_schema
from penstock_web.rest.rest_route import RestRoute, Runner, json_response

from . import operations
from .documents import USER_NAME, KeyExpiry, MadeKey, NewKey, ShownKey, ShownUser, UserPolicies

router = APIRouter(tags=["access"], route_class=RestRoute)

User = Annotated[str, Path(pattern=f"^{USER_NAME}$")]
KeyId = Annotated[str, Path(pattern="^[A-Z0-9]{20}$")]

_policies = msgspec.json.Decoder(UserPolicies)
_new_key = msgspec.json.Decoder(NewKey)
_expiry = msgspec.json.Decoder(KeyExpiry)


@router.get("/users", response_class=Response, responses=json_answers(list[ShownUser]))
async def list_users(runner: Runner) -> Response:
    """The account's users by name, with their policies."""
    return json_response(await runner.run(operations.list_users(runner.context)))


@router.put("/users/{user}", status_code=204, openapi_extra=request_body_schema(UserPolicies))
async def set_user(user: User, runner: Runner) -> None:
    """Make a user, or give one other policies; processes know it within QUEUE_ACCESS_CACHE_SECONDS."""
    wanted = await runner.read(lambda body: decode_document(_policies, body))
    act = Act("penstock:SetUser", user, {"policies": wanted.policies})
    await runner.act(act, operations.set_user(user, wanted.policies, runner.context), lambda _: 1)


@router.delete("/users/{user}", status_code=204)
async def end_user(user: User, runner: Runner) -> None:
    """Revoke a user's keys and forget the user."""
    await runner.act(Act("penstock:EndUser", user), operations.end_user(user, runner.context), lambda _: 1)


@router.get("/keys", response_class=Response, responses=json_answers(list[ShownKey]))
async def list_keys(runner: Runner) -> Response:
    """The account's keys, the oldest first; revoked ones, too."""
    return json_response(await runner.run(operations.list_keys(runner.context)))


@router.post(
    "/keys", status_code=201, openapi_extra=request_body_schema(NewKey), response_class=Response,
    responses=json_answers(MadeKey, statuses=(201,)),
)  # fmt: skip
async def create_key(runner: Runner) -> Response:
    """Make a key. A user has at most two of a kind."""
    new = await runner.read(lambda body: decode_document(_new_key, body))
    act = Act("penstock:CreateKey", new.user or "", {"bearer": new.bearer})
    return json_response(await runner.act(act, operations.create_key(new, runner.context), lambda _: 1), 201)


@router.patch("/keys/{key}", status_code=204, openapi_extra=request_body_schema(KeyExpiry))
async def limit_key(key: KeyId, runner: Runner) -> None:
    """Let a key expire, or not."""
    expires_at = (await runner.read(lambda body: decode_document(_expiry, body))).expires_at
    act = Act(
        "penstock:LimitKey", key, {"expires_at": None if expires_at is None else expires_at.isoformat()}
    )
    await runner.act(act, operations.limit_key(key, expires_at, runner.context), lambda _: 1)


@router.delete("/keys/{key}", status_code=204)
async def revoke_key(key: KeyId, runner: Runner) -> None:
    """Refuse a key from now on; processes that have used it know it within QUEUE_ACCESS_CACHE_SECONDS."""
    await runner.act(Act("penstock:RevokeKey", key), operations.revoke_key(key, runner.context), lambda _: 1)
