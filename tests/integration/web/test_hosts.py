"""Health checks ask under any name: load balancers and Kubernetes have their own (docs/access.md, "Hosts")."""

from __future__ import annotations

from tests.support.database import Database
from tests.support.programs.penstock_service import running_service

EVIL = {"host": "rebind.evil.example"}


def test_health_answers_to_every_name(database: Database) -> None:
    with running_service(database.api_dsn, QUEUE_LOCALSTACK_HEALTH="true") as service, service.http() as http:
        for path in ("/livez", "/readyz", "/_localstack/health"):
            assert http.get(path, headers=EVIL).status_code == 200
        assert http.get("/v1/queues", headers=EVIL).status_code == 421
