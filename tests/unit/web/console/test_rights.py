"""docs/console.md has every route of the console, and what it asks for."""

from __future__ import annotations

from pathlib import Path

from fastapi.routing import APIRoute

from penstock.management.rights import PUBLIC, SIGNED_IN
from penstock_web.console.console import SCREENS
from penstock_web.console.rights import RIGHTS

PAGE = Path(__file__).parents[4] / "docs" / "console.md"


def test_the_page_has_what_each_route_asks_for() -> None:
    routes = [route for screen in SCREENS for route in screen.router.routes if isinstance(route, APIRoute)]
    rows = [
        f"| `{' '.join(route.methods or ())} {route.path}` | {', '.join(f'`{action}`' for action in right.actions)} |"
        for route in routes
        if (right := RIGHTS[route.name]) not in (PUBLIC, SIGNED_IN)
    ]
    table = PAGE.read_text().partition("| route | asks for |\n| --- | --- |\n")[2].partition("\n\n")[0]
    assert table.splitlines() == rows
