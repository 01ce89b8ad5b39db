"""Rights of roles, as sql/grants.sql makes them: neither missing nor too many."""

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
            "its rights are not those of this release (sql/grants.sql)"
            if is_grant
            else "it may less, or more, than an application should",
            "the owner of the schema runs `penstock migrate`; what it leaves, `revoke` takes away"
            if is_grant
            else "`penstock roles set ROLE` names its account; then `grant penstock_app to ROLE` and "
            "`revoke penstock_api from ROLE`",
        )
