"""Declares the console's screens and acts.

    @screen("/console/topics", right=right_of(read_topic_page), title="Topics", position=30)
    async def topics(page: CurrentPage) -> Response: ...

`console.py` imports every module of `screens/`. ARCHITECTURE.md lists the other steps for a new page.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Final, NamedTuple, TypeVar

from starlette.responses import Response

from penstock.management.rights import Right

Handler = Callable[..., Coroutine[Any, Any, Response]]
HandlerT = TypeVar("HandlerT", bound=Handler)


class Screen(NamedTuple):
    """A page, or the action of a form. `title` is the page's default title. The navigation bar omits a screen without a
    `position`.
    """

    method: str
    path: str
    handler: Handler
    right: Right
    title: str = ""
    position: int | None = None


SCREENS: Final[list[Screen]] = []
"""Every screen and act that the imported modules have declared."""


def screen(path: str, *, right: Right, title: str = "", position: int | None = None) -> Callable[[HandlerT], HandlerT]:
    """Declares a page. If `position` is set, the navigation bar shows the title to users with the right."""

    def declare(handler: HandlerT) -> HandlerT:
        SCREENS.append(Screen("GET", path, handler, right, title, position))
        return handler

    return declare


def act(path: str, *, right: Right) -> Callable[[HandlerT], HandlerT]:
    """Declares the action of a form."""

    def declare(handler: HandlerT) -> HandlerT:
        SCREENS.append(Screen("POST", path, handler, right))
        return handler

    return declare


def find_screen(handler: Callable[..., object]) -> Screen:
    """Returns a handler's screen. Raises TypeError for an undeclared handler."""
    for screen in SCREENS:
        if screen.handler is handler:
            return screen
    raise TypeError(f"{handler.__module__}.{handler.__name__} requires no right: declare it with @screen or @act")


def list_navigation() -> list[Screen]:
    """Returns the screens of the navigation bar, in the order of their positions."""
    return sorted(
        (screen for screen in SCREENS if screen.position is not None), key=lambda screen: screen.position or 0
    )
