"""Adds the console to the container's application, or to the application that Mangum runs on Lambda."""

from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from pkgutil import iter_modules

from fastapi import APIRouter, FastAPI

from . import screens
from .console_route import ConsoleRoute
from .readings import Refresher
from .screen import SCREENS, Screen


def list_screens() -> list[Screen]:
    """Returns all screens and acts. Screens and acts that match every other path come last."""
    for module in iter_modules(screens.__path__):
        import_module(f"{screens.__name__}.{module.name}")
    return sorted(SCREENS, key=lambda screen: ":path" in screen.path)


def add_console(
    app: FastAPI,
    refresh: Callable[[], Awaitable[None]] | None = None,
    pool: Callable[[], Mapping[str, int]] | None = None,
) -> None:
    """Adds the routes below /console, and `/`. `refresh` returns when the queues have been measured.

    `pool` returns the counters of the process's pool of connections, and is None if the process has no pool.
    """
    app.state.console_refresh = None if refresh is None else Refresher(refresh)
    app.state.console_pool = pool
    router = APIRouter(route_class=ConsoleRoute, include_in_schema=False)
    for screen in list_screens():
        router.add_api_route(screen.path, screen.handler, methods=[screen.method])
    app.include_router(router)
