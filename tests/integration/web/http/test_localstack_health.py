"""GET /_localstack/health, for scripts that wait for it. LocalStack's page "Internal Endpoints" names the path; the
states of services are those that such scripts look for ("running", "error")."""

from __future__ import annotations

import psycopg
import pytest

from penstock import __version__
from penstock.actions import SERVICES
from tests.integration.web.test_service import set_read_only
from tests.support.database import Database
from tests.support.programs.penstock_service import running_service

PATH = "/_localstack/health"


def test_it_says_what_is_running_and_what_it_is(database: Database) -> None:
    with running_service(database.api_dsn, QUEUE_LOCALSTACK_HEALTH="true") as service, service.http() as http:
        expected = {
            "services": dict.fromkeys(SERVICES, "running"),
            "edition": "penstock",
            "version": __version__,
        }
        answer = http.get(PATH)
        assert (answer.status_code, answer.json()) == (200, expected)
        with psycopg.connect(database.dsn, autocommit=True) as connection:
            set_read_only(connection, database.name, "on")
        answer = http.get(PATH)
        assert (answer.status_code, set(answer.json()["services"].values())) == (200, {"error"})


@pytest.mark.parametrize(("setting", "status"), [("true", 200), ("false", 404)])
def test_it_needs_the_setting_and_no_credentials(database: Database, setting: str, status: int) -> None:
    settings = {"QUEUE_LOCALSTACK_HEALTH": setting, "QUEUE_ACCESS": "presence"}
    with running_service(database.api_dsn, **settings) as service, service.http() as http:
        assert http.get(PATH).status_code == status
        assert http.post(PATH, json={"action": "kill"}).status_code in {404, 405}
        assert http.get("/livez").status_code == 200
