"""Tests that the audit log has every page, route and tool that shows a queue's messages without receiving them."""

import re
from collections.abc import Iterator
from itertools import chain
from urllib.parse import urlencode

import httpx
import psycopg
import pytest

from penstock.access.audit.refusals import READING
from penstock_web.console.console import list_screens
from penstock_web.mcp.tools import TOOLS
from penstock_web.rest.api import ROUTES
from tests.support.conformance.access_keys import SIGV4, key_ring
from tests.support.database import Database
from tests.support.programs.penstock_service import running_service
from tests.support.web.console import ConsoleClient

MARK = "a-secret-of-the-body"
AT_ONCE = {"penstock.access.audit.refusals.WRITE_SECONDS": 0.0}
RECEIVES = {"/queues/{name}/messages"}  # has its own row of the receiver


class Interfaces:
    """Opens every interface of a service whose queue `q` has two messages with MARK, as a key of the account."""

    def __init__(self, http: httpx.Client, console: ConsoleClient, database: Database, token: str) -> None:
        self.http, self.console, self.database = http, console, database
        self.headers = {"authorization": f"Bearer {token}"}
        for path, body in (
            ("", {"name": "q"}),
            ("/q/messages", {"message": {"a": MARK}}),
            ("/q/messages", {"message": MARK}),
        ):
            http.post(f"/v1/queues{path}", json=body, headers=self.headers).raise_for_status()
        self.id = str(self.get_rest("/v1/queues/q/messages/peek").json()[0]["id"])
        self.shape = self.get_rest("/v1/queues/q/failures?by=shape").json()["groups"][0]["filter"]["shape"]

    def get_rest(self, path: str) -> httpx.Response:
        return self.http.get(path, headers=self.headers)

    def call_tool(self, name: str) -> httpx.Response:
        arguments = {} if name == "list_queues" else {"queue": "q"}
        arguments |= {"message": self.id} if name == "message_life" else {}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        headers = {**self.headers, "accept": "application/json, text/event-stream"}
        return self.http.post("/mcp", json=call, headers=headers)

    def count(self) -> int:
        with psycopg.connect(self.database.api_dsn) as db:
            row = db.execute(
                "select coalesce(sum(repeated), 0) from queue.audit where action = %s", (READING,)
            ).fetchone()
        assert row is not None
        return int(row[0])

    def fill(self, path: str) -> str:
        """Returns the path for the queue and one of its messages."""
        known = {"name": "q", "message_id": self.id, "id": self.id}
        return re.sub(r"\{(\w+)\}", lambda found: known.get(found[1], "1"), path)

    def open_screens(self) -> Iterator[tuple[str, httpx.Response]]:
        queries = ("", f"?{urlencode({'shape': self.shape, 'all': 'yes'})}", f"?id={self.id}", f"?copy={self.id}")
        for screen in list_screens():
            if screen.method == "GET" and screen.path.startswith("/console/queues/{name}"):
                for again in ("", " again"):  # A page from the cache is also a reading.
                    for text in queries:
                        yield (
                            f"{screen.path}{text.partition('=')[0]}{again}",
                            self.console.get(self.fill(screen.path) + text),
                        )

    def open_routes(self) -> Iterator[tuple[str, httpx.Response]]:
        for route in (route for routes in ROUTES for route in routes):
            if route.method == "GET" and "/queues/{name}" in route.path and route.path not in RECEIVES:
                yield route.path, self.get_rest(f"/v1{self.fill(route.path)}")
        search = "/v1/queues/q/messages/search"
        yield search, self.http.post(search, json={}, headers=self.headers)


@pytest.fixture
def interfaces(database: Database) -> Iterator[Interfaces]:
    with key_ring(database) as ring:
        token = ring.create(None, "", bearer=True).token
    with running_service(database.api_dsn, constants=AT_ONCE, **SIGV4, QUEUE_MCP="true") as service:
        console = ConsoleClient(service)
        assert console.sign_in(token).status_code == 303
        with service.http() as http:
            yield Interfaces(http, console, database, token)


def list_readings(interfaces: Interfaces, opened: Iterator[tuple[str, httpx.Response]]) -> set[str]:
    """Opens the interfaces. Returns those that show a body, after a check that each is one reading in the audit log."""
    showing, before = set(), interfaces.count()
    for name, response in opened:
        counted, before = interfaces.count() - before, interfaces.count()
        assert response.status_code < 500, (name, response.text)
        assert counted <= 1, name
        if MARK in response.text:
            showing.add(name)
            assert counted == 1, f"{name} is missing from the audit log"
    return showing


def test_every_page_route_and_tool_that_shows_a_message_is_a_reading(interfaces: Interfaces) -> None:
    page, route = "/console/queues/{name}", "/queues/{name}"
    expected = {
        f"{page}/messages", f"{page}/messages/export", f"{page}/messages/{{message_id}}", f"{page}/failures",
        f"{page}/failures again", f"{page}/redrive?shape", f"{page}/replace?id", f"{page}/send?copy",
        f"{page}/messages/{{message_id}}/edit", f"{route}/messages/peek", f"{route}/failures",
        "/v1/queues/q/messages/search", "search_messages", "failure_groups",
    }  # fmt: skip
    tools = ((name, interfaces.call_tool(name)) for name in TOOLS)
    assert expected <= list_readings(interfaces, chain(interfaces.open_screens(), interfaces.open_routes(), tools))
