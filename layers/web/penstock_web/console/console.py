"""Adds the console to an application: the container's, or the one that Mangum runs on Lambda."""

from collections.abc import Awaitable, Callable, Mapping

from fastapi import FastAPI

from .refreshing import Refresher
from .screens import (
    attributes,
    deliveries,
    entry,
    failures,
    mappings,
    messages,
    overview,
    people,
    queue,
    queues,
    redrive,
    schedules,
    system,
    topics,
)

SCREENS = (
    entry,
    overview,
    queues,
    queue,
    attributes,
    failures,
    redrive,
    messages,
    topics,
    schedules,
    mappings,
    deliveries,
    system,
    people,
)


def add_console(
    app: FastAPI,
    refresh: Callable[[], Awaitable[None]] | None = None,
    pool: Callable[[], Mapping[str, int]] | None = None,
) -> None:
    """Adds the routes below /console, and `/`. `refresh`: returns when the queues have been measured.

    `pool`: the counters of the process's pool of connections; None: it has none.
    """
    app.state.console_refresh = None if refresh is None else Refresher(refresh)
    app.state.console_pool = pool
    for screen in SCREENS:
        app.include_router(screen.router)
    app.include_router(entry.last_router)
