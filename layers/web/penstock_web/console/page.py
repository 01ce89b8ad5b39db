"""Defines an admitted request of the console."""

from collections.abc import Callable, Mapping
from typing import Annotated, Final, TypeVar

from fastapi import Depends, Request

from penstock.access.authorization import is_user_allowed
from penstock.access.resources import ANY
from penstock.context import Context, Interface
from penstock.effects import Operation
from penstock.errors import InvalidParameterValue
from penstock.management.rights import BUILDERS, Right, authorize, authorize_request
from penstock_web.routing.runner import OperationRunner

from .forms import Form, Query
from .readings import Refresher, ViewCache
from .screen import Screen
from .sign_in import Viewer

T = TypeVar("T")

PAGE_KEY: Final = "penstock.page"
READS: Final = ("GET", "HEAD")
READING: Final = ("Get", "List", "ReceiveMessage", "Read", "Match", "Preview")


class Page:
    """A request and its user's rights. `viewer` is None on public pages. `form` is empty until `admit` reads the
    form.
    """

    def __init__(self, request: Request, screen: Screen) -> None:
        self.screen = screen
        self.request = request
        self.query = Query(request.scope["query_string"])
        self.form = Form()
        self.viewer: Viewer | None = None
        self._runner = OperationRunner(request)
        self.context: Context = self._runner.context
        self.context.interface = Interface.CONSOLE

    @property
    def is_full(self) -> bool:
        """Returns whether QUEUE_CONSOLE allows changes."""
        return self.context.environment.settings.console == "full"

    def may(self, action: str, arn: str = ANY) -> bool:
        """Returns whether the user's own policies allow an action. A page uses the result to decide whether it offers
        the action. When the user performs the action, the console checks all policies.
        """
        if action.partition(":")[2].startswith(READING) or self.is_full:
            service, _, name = action.partition(":")
            return is_user_allowed(service, name, arn, self.context)
        return False

    def may_ever(self, action: str) -> bool:
        """Returns whether the user's policies allow an action on any resource. Forms in which the user names the
        resource use this method.
        """
        return self.is_full and self.context.caller.may_ever(action.lower())

    def may_open(self, screen: Screen, *names: str) -> bool:
        """Returns whether the navigation bar or the tabs show a screen. `names` name the resource of the screen."""
        arn = BUILDERS[screen.right.scope](names, self.context)
        return all(self.may(action, arn) for action in screen.right.actions)

    def check_typed(self, name: str, act: str) -> None:
        """Raises InvalidParameterValue unless the user has typed the name of the resource. The error says that Penstock
        has not done `act`, such as `deleted the topic`.
        """
        if self.form.get("typed").strip() != name:
            raise InvalidParameterValue(f"The typed name is not {name}. Penstock has not {act}.")

    async def check(self, right: Right) -> None:
        """Raises AccessDenied unless the user has the right. The path's first parameter names the resource. For forms,
        and for pages whose resource only the operation finds, the operation checks the right again. For other pages,
        this method is the only check, because a page can show a cached result that another user read.
        """
        names = tuple(self.request.path_params.values())
        ask = authorize if self.request.method in READS and right.scope != "operation" else authorize_request
        await self.run(ask(right, names, self.context))

    async def authorize(self) -> None:
        """Raises AccessDenied unless the user has the screen's right on the resource in the path. An act that runs no
        operation with a right uses this method.
        """
        await self.run(authorize(self.screen.right, tuple(self.request.path_params.values()), self.context))

    async def run(self, operation: Operation[T]) -> T:
        """Returns an operation's result. Raises the operation's typed errors."""
        return await self._runner.run(operation)

    async def act(self, operation: Operation[T]) -> T:
        """Runs a changing operation and clears the shared results, so that later pages show the change."""
        try:
            return await self.run(operation)
        finally:
            self.context.environment.cache(ViewCache).clear()

    async def read(self, key: tuple[object, ...], operation: Callable[[], Operation[T]]) -> T:
        """Returns the result of a read. Caches the result under `key` for all users of the account."""
        readings = self.context.environment.cache(ViewCache)
        owner = (self.context.account_id, self.context.region)
        return await readings.get((*owner, *key), lambda: self.run(operation()))

    async def refresh(self) -> None:
        """Starts a measurement of the queues, and waits at most 150 ms for it. The next poll shows the result of a
        slower measurement.
        """
        refresher: Refresher | None = self.request.app.state.console_refresh
        if refresher is not None:
            await refresher.wait()

    def pool(self) -> Mapping[str, int] | None:
        """Returns the counters of the process's connection pool, or None if the process has no pool, as in a Lambda
        function."""
        stats: Callable[[], Mapping[str, int]] | None = self.request.app.state.console_pool
        return None if stats is None else stats()


async def _build_page(request: Request) -> Page:
    """Returns the request's page. This function is a coroutine, because FastAPI would call a plain function in a
    thread.
    """
    page: Page = request.scope[PAGE_KEY]
    return page


CurrentPage = Annotated[Page, Depends(_build_page)]
