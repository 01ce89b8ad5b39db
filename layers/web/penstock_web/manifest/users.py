"""Compares and changes users in the database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

from penstock.access.users import DatabaseOperator
from penstock.drivers import run
from penstock.management import access
from penstock.management.errors import UserNotFound
from penstock.postgres.database import Database
from penstock.postgres.statements.access import LIST_USERS

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

    def plan_changes(self, wanted: dict[str, ManifestUser], *, prune: bool) -> Iterator[Change]:
        """Yields the changes that lead to the wanted users. Deleting a user also revokes the user's keys."""
        existing = self.read()
        for name, user in wanted.items():
            old = existing.get(name)
            if old is None or old.policies != user.policies:
                values = {"policies": (old.policies if old else None, user.policies)}
                stored = [policy if isinstance(policy, str) else json.dumps(policy) for policy in user.policies]
                step: Step = (Phase.USERS, partial(self._set, name, stored))
                yield Change("~" if old else "+", f"user {name}", [step], values)
        for name in existing.keys() - wanted.keys() if prune else ():
            step = (Phase.USERS, partial(self._drop, name))
            yield Change("-", f"user {name}", [step], remark=" (with its keys)")

    def _set(self, name: str, policies: list[str]) -> None:
        run(access.store_user(name, policies, DatabaseOperator(self._account)), self._database)

    def _drop(self, name: str) -> None:
        with suppress(UserNotFound):
            run(access.drop_user(name, DatabaseOperator(self._account)), self._database)


def _document(policy: str) -> str | Document:
    return json.loads(policy) if policy.startswith("{") else policy
