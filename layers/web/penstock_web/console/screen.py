"""Declares each screen and act of the console once: path and right, and for the navigation its title and place.

    @screen("/console/topics", right=require("sns:ListTopics"), title="Topics", position=30)
    async def topics(page: CurrentPage) -> Response: ...

`console.py` imports every module of `screens/`, so that a new screen needs only a module and a template.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Final, NamedTuple, TypeVar

from starlette.responses import Response

from penstock.management.rights import Right

Handler = Callable[..., Coroutine[Any, Any, Response]]
HandlerT = TypeVar("HandlerT", bound=Handler)


class Screen(NamedTuple):
    """A page, or an act of a form. `title` is its default title. The bar omits a screen without a `position`."""

    method: str
    path: str
    handler: Handler
    right: Right
    title: str = ""
    position: int | None = None


SCREENS: Final[list[Screen]] = []
"""Lists every screen and act whose module was imported, in the order of declaration."""


def screen(path: str, *, right: Right, title: str = "", position: int | None = None) -> Callable[[HandlerT], HandlerT]:
    """Declares a page. With a `position`, the navigation bar shows the title to users who have the right."""

    def declare(handler: HandlerT) -> HandlerT:
        SCREENS.append(Screen("GET", path, handler, right, title, position))
        return handler

    return declare


def act(path: str, *, right: Right) -> Callable[[HandlerT], HandlerT]:
    """Declares the act of a form."""

    def declare(handler: HandlerT) -> HandlerT:
        SCREENS.append(Screen("POST", path, handler, right))
        return handler

    return declare


def find_screen(handler: Callable[..., object]) -> Screen:
    """Returns the screen with this handler. Raises TypeError for a handler that was not declared."""
    for screen in SCREENS:
        if screen.handler is handler:
            return screen
    raise TypeError(f"{handler.__module__}.{handler.__name__} requires no right: declare it with @screen or @act")


def list_navigation() -> list[Screen]:
    """Returns the screens of the navigation bar in their order."""
    return sorted(
        (screen for screen in SCREENS if screen.position is not None), key=lambda screen: screen.position or 0
    )
