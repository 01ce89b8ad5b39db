"""A console in front of a service, and the requests of its tests."""

from dataclasses import dataclass
from typing import Any

import psycopg

from tests.support.database import Database
from tests.support.programs.penstock_service import Service
from tests.support.web.report_page import ConsoleClient


@dataclass
class Console:
    """A service with its console, a browser that is signed in, and a client of SQS."""

    database: Database
    service: Service
    browser: ConsoleClient
    sqs: Any

    def queue(self, name: str, **attributes: str) -> str:
        return str(self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"])

    def page(self, path: str) -> str:
        response = self.browser.get(f"/console{path}")
        assert response.status_code == 200, response.text
        return response.text

    def audit(self, action: str) -> tuple[Any, ...]:
        with psycopg.connect(self.database.dsn) as connection:
            row = connection.execute(
                "select actor, key_id, target, details, affected, interface, changes from queue.audit"
                " where action = %s order by audit_id desc limit 1", (action,)
            ).fetchone()  # fmt: skip
        assert row is not None
        return row


def build_form(name: str) -> dict[str, str]:
    """Returns fields that are valid in every form, for the queue, topic or schedule with this name."""
    url = "http://127.0.0.1/"
    return {
        "name": name, "typed": name, "status": "paused", "state": "enabled", "id": "1", "body": "x", "queue": name,
        "function": url, "endpoint": url,
    }  # fmt: skip
