"""Finds out, before a change, which administrators the change would deprive of their rights.

An administrator is a valid key whose owner can create keys and set users. Commands that use the database do not ask,
because they can always create another key (`penstock keys create`).
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from penstock.access.policy.evaluation import Decision
from penstock.access.policy.requests import AccessRequest
from penstock.access.users import build_owner_arn, build_user
from penstock.context import Context
from penstock.effects import Operation

from .access import ShownKey, list_keys, list_users

NOBODY: Final = (
    "No other valid key can manage users and keys. Afterwards, only `penstock keys create` on a machine with access to "
    "the database can create such a key."
)
SIGNS_OUT: Final = "You signed in with a key that this change ends. At its end you are signed out."
LOSES: Final = "You will no longer be able to manage users and keys."
_NEEDED: Final = ("penstock:setuser", "penstock:createkey")


class AccessChange(NamedTuple):
    """The end of the key `key_id`, the end of the user `user`, or the user's new `policies`."""

    key_id: str | None = None
    user: str | None = None
    policies: Sequence[str] | None = None


class _Before(NamedTuple):
    """The valid keys with their owners, and the users' policies."""

    owners: dict[str, str | None]
    policies: dict[str, Sequence[str]]


def find_losses(change: AccessChange, context: Context) -> Operation[list[str]]:
    """Returns sentences about the access that the caller or the whole account loses. Raises AccessDenied unless the
    caller can list users and keys."""
    users = yield from list_users(context)
    keys = yield from list_keys(context)
    now = datetime.now(UTC)
    before = _Before(
        {key.id: key.user for key in keys if _is_valid(key, now)}, {user.name: user.policies for user in users}
    )
    return list(_compare(before, _apply(change, before), context))


def _is_valid(key: ShownKey, now: datetime) -> bool:
    return key.revoked_at is None and (key.expires_at is None or key.expires_at > now)


def _apply(change: AccessChange, before: _Before) -> _Before:
    if change.key_id is not None:
        return before._replace(owners={key: owner for key, owner in before.owners.items() if key != change.key_id})
    if change.user is not None and change.policies is not None:
        return before._replace(policies={**before.policies, change.user: change.policies})
    return before._replace(owners={key: owner for key, owner in before.owners.items() if owner != change.user})


def _compare(before: _Before, after: _Before, context: Context) -> Iterator[str]:
    managing, remaining = (_list_administrators(state, context.account_id) for state in (before, after))
    own = context.key_id
    if own in before.owners and own not in after.owners:
        yield SIGNS_OUT
    elif own in managing and own not in remaining:
        yield LOSES
    if managing and not remaining:
        yield NOBODY


def _list_administrators(state: _Before, account_id: str) -> set[str]:
    return {key for key, owner in state.owners.items() if _manages(owner, state.policies, account_id)}


def _manages(owner: str | None, policies: dict[str, Sequence[str]], account_id: str) -> bool:
    """Returns whether a key's owner can manage itself. Conditions of policies count as not met."""
    user, arn = build_user(account_id, owner, policies.get(owner or "", ())), build_owner_arn(owner, account_id)
    return all(user.decide(AccessRequest(user.principal, name, arn, {})) is Decision.ALLOWED for name in _NEEDED)
