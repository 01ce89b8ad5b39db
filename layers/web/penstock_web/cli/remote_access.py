"""Manages users and keys over the REST API, for `penstock users` and `penstock keys` with --endpoint."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

from penstock_web.local_error import LocalError

from .client import RestClient
from .key_ring import NewKey
from .printing import print_fields, print_lines, print_table

if TYPE_CHECKING:
    from .client import Document

_KEYS = ("id", "kind", "user", "created_at", "last_used_at", "expires_at", "revoked_at", "description")


def list_users(endpoint: str) -> None:
    """Prints one line for each user."""
    print_table(RestClient(endpoint).call_list("/users"), json=False, columns=("name", "policies", "created_at"))


def show_user(endpoint: str, name: str) -> None:
    """Prints a user's policies and keys. Raises LocalError for an unknown user."""
    client = RestClient(endpoint)
    print_fields(_find_row(client.call_list("/users"), "name", name, "user"))
    print_table((key for key in client.call_list("/keys") if key["user"] == name), json=False, columns=_KEYS)


def set_user(endpoint: str, name: str, policies: list[str], *, new: bool) -> None:
    """Creates a user if `new` is true, and otherwise replaces a user's policies. Raises LocalError if the user to
    create already exists, or if the user to change does not exist.
    """
    client = RestClient(endpoint)
    exists = any(user["name"] == name for user in client.call_list("/users"))
    if exists == new:
        raise LocalError(f"there is {'a' if new else 'no'} user {name!r}")
    client.call("PUT", _user(name), {"policies": policies})
    print_lines([f"user {name}: {', '.join(policies) or 'no policy'}"])


def end_user(endpoint: str, name: str) -> None:
    """Revokes a user's keys and deletes the user."""
    RestClient(endpoint).call("DELETE", _user(name))
    print_lines([f"ended {name}"])


def list_keys(endpoint: str) -> None:
    """Prints one line for each key of the account."""
    print_table(RestClient(endpoint).call_list("/keys"), json=False, columns=_KEYS)


def show_key(endpoint: str, key_id: str) -> None:
    """Prints a key without its secret. Raises LocalError for an unknown key."""
    print_fields(_find_row(RestClient(endpoint).call_list("/keys"), "id", key_id, "key"))


def create_key(
    endpoint: str, *, bearer: bool, user: str | None, description: str, expires_at: datetime | None
) -> NewKey:
    """Creates a key."""
    given = {"bearer": bearer, "user": user, "description": description, "expires_at": expires_at}
    made = RestClient(endpoint).call("POST", "/keys", {k: v for k, v in given.items() if v is not None})
    key_id, secret = (str(made["token"]) if bearer else f"{made['id']}.{made['secret']}").split(".", 1)
    return NewKey(key_id, secret, None, user, bearer)


def limit_key(endpoint: str, key_id: str, expires_at: datetime | None) -> None:
    """Sets the time when a key expires. The key never expires if the time is None."""
    RestClient(endpoint).call("PATCH", _key(key_id), {"expires_at": expires_at})
    print_lines([f"expires: {'never' if expires_at is None else expires_at}"])


def revoke_key(endpoint: str, key_id: str) -> None:
    """Revokes a key."""
    RestClient(endpoint).call("DELETE", _key(key_id))
    print_lines([f"revoked {key_id}"])


def _find_row(rows: list[Document], member: str, value: str, kind: str) -> Document:
    for row in rows:
        if row[member] == value:
            return row
    raise LocalError(f"there is no {kind} {value!r}")


def _user(name: str) -> str:
    return f"/users/{quote(name, safe='')}"


def _key(key_id: str) -> str:
    return f"/keys/{quote(key_id, safe='')}"
