"""The console as the function `rest`: pages, forms and sessions by events of API Gateway and of a load balancer."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

# Here and not first in a thread of the server: pydantic parses source, which Python 3.11 cannot do in two threads.
import penstock_web.rest_function  # noqa: F401
from tests.support import plain_http
from tests.support.conformance.access_keys import SIGV4, new_key
from tests.support.database import Database
from tests.support.functions.server import FunctionServer
from tests.support.local_lambda.events import EVENT_FORMS, EventForm

pytestmark = pytest.mark.parametrize("form", EVENT_FORMS)


@pytest.fixture
def http(database: Database, form: EventForm) -> Iterator[httpx.Client]:
    with (
        FunctionServer(database.pooled_dsn, form, SIGV4) as deployment,
        plain_http.Client(base_url=deployment.endpoint_url) as http,
    ):
        yield http


def test_sign_in_make_a_queue_and_look(http: httpx.Client, database: Database) -> None:
    assert http.get("/console/queues").headers["location"].startswith("/console/sign-in?")
    key_id, secret = new_key(database, "000000000000")
    origin = {"origin": str(http.base_url).rstrip("/")}
    answer = http.post("/console/sign-in", data={"key": key_id, "secret": secret}, headers=origin)
    assert answer.status_code == 303, answer.text
    assert http.post("/console/queues", data={"name": "made"}, headers={"origin": "null"}).status_code == 403
    assert http.post("/console/queues", data={"name": "made"}, headers=origin).status_code == 303
    body = {"body": "gr\u00fc\u00dfe, <b>"}
    assert http.post("/console/queues/made/send", data=body, headers=origin).status_code == 303
    text = http.get("/console/queues/made/messages", headers={"accept-encoding": "gzip"}).text
    assert "gr\u00fc\u00dfe, &lt;b&gt;" in text
    assert http.get("/console/queues").status_code == http.get("/console").status_code == 200
    style = http.get("/console/static/console.css", headers={"accept-encoding": "gzip"})
    assert ":root" in style.text
    assert http.get("/console/none").status_code == 404
    for page in ("topics", "schedules", "schedules?view=calendar", "deliveries", "audit", "keys"):
        answer = http.get(f"/console/{page}")
        assert answer.status_code == 200, (page, answer.text)
    assert "QUEUE_LAMBDA_MAPPINGS is off" in http.get("/console/mappings").text
    system = http.get("/console/system").text
    assert "<dt>connections, of at most</dt>" in system
    assert "A function has one connection and no pool." in system
