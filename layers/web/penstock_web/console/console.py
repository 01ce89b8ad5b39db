"""Adds the console to an application: the container's, or the one that Mangum runs on Lambda."""

from collections.abc import Awaitable, Callable

from fastapi import FastAPI

from .screens import (
    attributes,
    entry,
    failures,
    messages,
    overview,
    people,
    queue,
    queues,
    redrive,
    schedules,
    system,
    topics,
    webhooks,
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
    webhooks,
    system,
    people,
)


def add_console(app: FastAPI, refresh: Callable[[], Awaitable[None]] | None = None) -> None:
    """Adds the routes below /console, and `/`. `refresh`: returns when the queues have been measured."""
    app.state.console_refresh = refresh
    for screen in SCREENS:
        app.include_router(screen.router)
    app.include_router(entry.last_router)
