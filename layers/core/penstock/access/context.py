"""The parts of a request's context and of the process's environment that this package uses.

`penstock.context.Context` and `penstock.environment.Environment` have them. Both import this package, so the package
cannot import them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from penstock.http import HttpRequest
    from penstock.settings import Settings

    from .request_rate import RequestRate
    from .users import User

T = TypeVar("T")


class SharedState(Protocol):
    """The state that all requests of the process share."""

    @property
    def settings(self) -> Settings: ...

    @property
    def request_rate(self) -> RequestRate | None: ...

    def cache(self, kind: type[T]) -> T:
        """Returns the process's only instance of a class."""


class RequestContext(Protocol):
    """The caller of a request, and the state of the process. `user` is None if the caller is not authenticated."""

    account_id: str
    region: str
    request_id: str
    http: HttpRequest
    user: User | None
    key_id: str | None

    @property
    def caller(self) -> User: ...

    @property
    def interface_name(self) -> str:
        """Returns the name of the API that received the request."""

    @property
    def shows_policy_names(self) -> bool:
        """Returns whether errors spell actions as policies do."""

    @property
    def client_address(self) -> str:
        """Returns the caller's address, or an empty string if the address is unknown."""

    @property
    def condition_keys(self) -> dict[str, str]:
        """Returns the values that policy conditions compare."""

    @property
    def environment(self) -> SharedState: ...
