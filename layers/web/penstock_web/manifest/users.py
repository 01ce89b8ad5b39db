"""Compares and changes users in the database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

from penstock.postgres.database import Database
from penstock.postgres.statements.access import END_USER, LIST_USERS, SET_USER

from .changes import Change, Phase, Step
from .model import Document, ManifestUser


class UserStore:
    """One account's users."""

    def __init__(self, database: Database, account: str) -> None:
        self._database = database
        self._account = account

    def read(self) -> dict[str, ManifestUser]:
        """Returns the account's users by name."""
        rows = self._database.call(LIST_USERS, (self._account,))
        return {row.name: ManifestUser([_document(policy) for policy in row.policies]) for row in rows}

    def changes(self, wanted: dict[str, ManifestUser], *, prune: bool) -> Iterator[Change]:
        """Yields the changes to reach the wanted users. Deleting a user revokes the user's keys."""
        there = self.read()
        for name, user in wanted.items():
            old = there.get(name)
            if old is None or old.policies != user.policies:
                values = {"policies": (old.policies if old else None, user.policies)}
                stored = [policy if isinstance(policy, str) else json.dumps(policy) for policy in user.policies]
                step: Step = (Phase.USERS, partial(self._set, name, stored))
                yield Change("~" if old else "+", f"user {name}", [step], values)
        for name in there.keys() - wanted.keys() if prune else ():
            step = (Phase.USERS, partial(self._database.call, END_USER, (self._account, name)))
            yield Change("-", f"user {name}", [step], remark=" (with its keys)")

    def _set(self, name: str, policies: list[str]) -> None:
        self._database.call(SET_USER, (self._account, name, policies))


def _document(policy: str) -> str | Document:
    return json.loads(policy) if policy.startswith("{") else policy
