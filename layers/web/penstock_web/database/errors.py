"""Classifies the errors of database calls.

ServiceUnavailable    nothing was done: no connection was free or could be opened, or the server has no room
├── RolledBack        the database rolled the call back (deadlock): the caller may repeat it
│   └── Locked        the same, since another transaction kept a lock for longer than `lock_timeout`
└── OutcomeUnknown    the connection broke during the call, which may or may not have taken effect
psycopg.Error         everything else: the call itself is wrong, and would fail again
"""

import psycopg

from penstock.errors import ServiceUnavailable
from penstock.postgres.sqlstates import Meaning, find_error_meaning

from .pipeline_connection import PipelineConnection


class RolledBack(ServiceUnavailable):
    """The database rolled the call back, for example to end a deadlock."""

    json_type = query_code = "ServiceUnavailable"


class Locked(RolledBack):
    """The call waited too long for a lock."""

    json_type = query_code = "ServiceUnavailable"


class OutcomeUnknown(ServiceUnavailable):
    """The connection was lost during the call."""

    json_type = query_code = "ServiceUnavailable"


def classify_pipeline_error(error: psycopg.Error, pipeline: PipelineConnection) -> Exception:
    """Returns the result of `classify_error`, and closes the pipeline connection if a new connection would work
    better."""
    broken = pipeline.connection.closed
    if find_error_meaning(error) is Meaning.STALE_STATEMENT:
        pipeline.close()
        return RolledBack()
    if find_error_meaning(error) is Meaning.READ_ONLY:
        pipeline.close()
    return classify_error(error, broken=broken)


def classify_error(error: psycopg.Error, *, broken: bool) -> Exception:
    """Returns the error to raise for a database error. See `penstock.postgres.sqlstates`."""
    if error.sqlstate is None:
        client_side = not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
        return error if client_side and not broken else OutcomeUnknown()
    match find_error_meaning(error):
        case Meaning.ROLLED_BACK:
            return RolledBack()
        case Meaning.LOCKED:
            return Locked()
        case Meaning.CONNECTION_LOST:
            return OutcomeUnknown()
        case Meaning.UNAVAILABLE | Meaning.READ_ONLY:
            return ServiceUnavailable()
        case _:
            return error
