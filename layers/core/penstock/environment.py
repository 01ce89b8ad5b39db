"""The objects that all requests of a process share: settings, receipt handles, hosts, the access rule and caches."""

import os
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import uuid4

from .access.hosts import Hosts
from .access.receipt_handle import ReceiptHandles
from .access.request_rate import RequestRate, request_rate
from .drivers import StatementExecutor
from .postgres.statements.installation import SHARED_SECRET
from .settings import Settings

if TYPE_CHECKING:
    from .access.authentication import AccessRule

T = TypeVar("T")


class RequestIds:
    """Request ids of one process, in UUID form. All groups are random except the last group, which is a counter.
    Creating an id is 20 times faster than creating a random UUID. An id is unique, because every process chooses 80
    random bits.
    """

    def __init__(self) -> None:
        self._prefix = str(uuid4())[:24]
        self._next = count(1).__next__

    def __call__(self) -> str:
        return f"{self._prefix}{self._next():012x}"


@dataclass(frozen=True, slots=True)
class Environment:
    """The objects that a process creates once, after a fork, and that all requests share."""

    settings: Settings
    receipts: ReceiptHandles
    request_ids: RequestIds = field(default_factory=RequestIds)
    hosts: Hosts = field(init=False)
    access: "AccessRule | None" = field(init=False)
    request_rate: RequestRate | None = field(init=False)
    _caches: dict[type, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # This method creates the objects, so that every entry point has them. Raises SettingError.
        object.__setattr__(self, "hosts", Hosts(self.settings))
        object.__setattr__(self, "access", _build_access_rule(self.settings))
        object.__setattr__(self, "request_rate", request_rate(self.settings))

    def cache(self, kind: type[T]) -> T:
        """Returns this process's only instance of the class `kind`. The first call creates the instance."""
        instance = self._caches.get(kind)
        if instance is None:
            instance = self._caches.setdefault(kind, kind())
        return cast("T", instance)


def build_worker_environment(settings: Settings) -> Environment:
    """Returns the environment of a worker. It has no key for receipt handles, because a worker creates none."""
    return Environment(settings, ReceiptHandles(b""))


def load_receipt_handles(database: StatementExecutor) -> ReceiptHandles:
    """Returns receipt handles with the installation's key. The first process of an installation creates the key. Raises
    the errors of `call`."""
    (secret,) = database.call(SHARED_SECRET, ["receipt", os.urandom(32)])
    return ReceiptHandles(bytes(secret.value))


def _build_access_rule(settings: Settings) -> "AccessRule | None":
    if settings.queue_access == "off":
        return None
    from .access.authentication import build_access_rule  # noqa: PLC0415 - takes 15 ms, and only some settings need it

    return build_access_rule(settings)
