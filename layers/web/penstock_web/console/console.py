"""Adds the console to an application, for the container or for Mangum on Lambda."""

from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from pkgutil import iter_modules

from fastapi import APIRouter, FastAPI

from . import screens
from .console_route import ConsoleRoute
from .readings import Refresher
from .screen import SCREENS, Screen


def list_screens() -> list[Screen]:
    """Returns all screens and acts. Paths with `:path` come last, because they match every other path."""
    for module in iter_modules(screens.__path__):
        import_module(f"{screens.__name__}.{module.name}")
    return sorted(SCREENS, key=lambda screen: ":path" in screen.path)


def add_console(
    app: FastAPI,
    refresh: Callable[[], Awaitable[None]] | None = None,
    pool: Callable[[], Mapping[str, int]] | None = None,
) -> None:
    """Adds the route `/` and the routes below /console. `refresh` measures the queues. `pool` returns the counters of
    the process's connection pool. `pool` is None if the process has no pool.
    """
    app.state.console_refresh = None if refresh is None else Refresher(refresh)
    app.state.console_pool = pool
    router = APIRouter(route_class=ConsoleRoute, include_in_schema=False)
    for screen in list_screens():
        router.add_api_route(screen.path, screen.handler, methods=[screen.method])
    app.include_router(router)
