"""The rights of the console's screens: docs/console.md has them, and no screen is made without."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi import APIRouter, Response

from penstock.management.rights import PUBLIC, SIGNED_IN, require
from penstock_web.console.console import list_screens
from penstock_web.console.console_route import ConsoleRoute
from penstock_web.console.screen import list_navigation, screen

PAGE = Path(__file__).parents[4] / "docs" / "console.md"


def test_the_page_has_what_each_route_asks_for() -> None:
    rows = [
        f"| `{one.method} {one.path}` | {', '.join(f'`{action}`' for action in one.right.actions)} |"
        for one in list_screens()
        if one.right not in (PUBLIC, SIGNED_IN)
    ]
    table = PAGE.read_text().partition("| route | asks for |\n| --- | --- |\n")[2].partition("\n\n")[0]
    assert table.splitlines() == sorted(rows, key=lambda row: row.split()[2])


def test_a_right_is_about_the_queue_or_topic_of_the_path() -> None:
    for one in list_screens():
        assert (one.right.scope == "queue") == ("/queues/{name}" in one.path), one
        assert (one.right.scope == "topic") == ("/topics/{topic}" in one.path), one


def test_the_navigation() -> None:
    list_screens()
    titles = [
        "Overview",
        "Queues",
        "Topics",
        "Schedules",
        "Mappings",
        "Deliveries",
        "System",
        "Keys",
        "Audit",
    ]
    assert [one.title for one in list_navigation()] == titles


async def forgotten() -> Response:
    return Response()


def test_a_screen_without_a_right_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'right'"):
        screen("/console/things")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="forgotten requires no right: declare it with @screen or @act"):
        APIRouter(route_class=ConsoleRoute).add_api_route("/console/things", forgotten)
    with pytest.raises(ValueError, match="sqs:RecieveMessage"):
        require("sqs:RecieveMessage")
