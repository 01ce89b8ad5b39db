"""Checks that the rights of roles are exactly those of sql/grants.sql."""

from __future__ import annotations

from collections.abc import Iterator

from .examination import Examination
from .finding import Finding

SUBJECT = "grants"
_PROBLEMS = "select problem from queue.find_role_problems(%s)"
_OF_APPLICATIONS = ("the application's role ", "the role ")


def check_grants(examined: Examination) -> Iterator[Finding]:
    """Raises psycopg's errors."""
    service = [connection.session.role for connection in examined.service_connections()]
    for (problem,) in examined.direct().execute(_PROBLEMS, (service,)).fetchall():
        is_grant = not problem.startswith(_OF_APPLICATIONS)
        yield Finding(
            SUBJECT,
            problem,
            "its rights differ from those of this release (sql/grants.sql)"
            if is_grant
            else "it has fewer rights, or more, than an application should have",
            "the owner of the schema runs `penstock migrate`; `revoke` removes the remaining rights"
            if is_grant
            else "`penstock roles set ROLE` names its account; then `grant penstock_app to ROLE` and "
            "`revoke penstock_api from ROLE`",
        )
