"""Maps an error's SQLSTATE to its meaning for the caller. No other Python module interprets SQLSTATEs.

    meaning           took effect   connection   may succeed later   the client gets
    ROLLED_BACK       no            kept         yes, at once        ServiceUnavailable, unless the second call succeeds
    LOCKED            no            kept         yes                 as ROLLED_BACK, after merged calls were made apart
    READ_ONLY         no            closed       yes, on a new one   ServiceUnavailable, as above in a Lambda function
    CONNECTION_LOST   unknown       closed       yes                 ServiceUnavailable
    UNAVAILABLE       no            kept         yes                 ServiceUnavailable
    LOGIN_REFUSED     no            never open   yes                 ServiceUnavailable
    STALE_STATEMENT   no            closed       yes, on a new one   as ROLLED_BACK; only pipeline connections prepare
    NOT_INSTALLED     no            kept         no                  InternalFailure
    REFUSED           no            kept         no                  only callers of SQL see it: docs/reference/sql.md
    FAILED            no            kept         no                  InternalFailure

`database` (Lambda functions) and `penstock_web.database.errors` (the container) convert a meaning to an error.
`penstock_web.batching.batcher` decides by the meaning whether to repeat merged calls one by one. Source: PostgreSQL
documentation, appendix A, "PostgreSQL Error Codes". The SQL functions that fire schedules call
queue.is_server_error to find out whether the schedule itself caused an error.
"""

from collections.abc import Mapping
from enum import Enum, auto

INTERNAL_ERROR = "XX000"
LONG_MESSAGE = "QU010"  # A receive that assumed short messages found a long message, so the database undid the receive.


class Meaning(Enum):
    """The consequence of an error."""

    ROLLED_BACK = auto()
    """The database rolled back the call, for example because of a deadlock."""
    LOCKED = auto()
    """Another transaction kept a lock for longer than `lock_timeout`."""
    READ_ONLY = auto()
    """The server has become a standby. A new connection may reach the new primary."""
    CONNECTION_LOST = auto()
    """The connection broke during the call. The call may have taken effect."""
    UNAVAILABLE = auto()
    """The server has too few resources, or cancelled the call."""
    LOGIN_REFUSED = auto()
    """The server refused the user, for example during a change of the password."""
    STALE_STATEMENT = auto()
    """A prepared statement no longer exists, or its function has other columns since an upgrade."""
    NOT_INSTALLED = auto()
    """A function, a schema or a privilege is missing. The call fails with any arguments."""
    REFUSED = auto()
    """A SQL function of Penstock refuses its arguments. The codes are in docs/reference/sql.md."""
    FAILED = auto()
    """The call itself is wrong, and would fail again."""

    @property
    def took_no_effect(self) -> bool:
        """Whether the database undid the call. A caller can repeat a call that the database undid."""
        return self in (Meaning.ROLLED_BACK, Meaning.LOCKED, Meaning.READ_ONLY)

    @property
    def ends_connection(self) -> bool:
        """Whether the connection can no longer be used."""
        return self in (Meaning.CONNECTION_LOST, Meaning.READ_ONLY)

    @property
    def is_temporary(self) -> bool:
        """Whether the same call, on any connection, can succeed later."""
        return self in _TEMPORARY


_TEMPORARY = frozenset(
    (
        Meaning.ROLLED_BACK,
        Meaning.LOCKED,
        Meaning.READ_ONLY,
        Meaning.CONNECTION_LOST,
        Meaning.UNAVAILABLE,
        Meaning.LOGIN_REFUSED,
    )
)

# A SQLSTATE of five characters takes precedence over its class of two.
SQLSTATES: Mapping[str, Meaning] = {
    "08": Meaning.CONNECTION_LOST,  # connection exception
    "0A000": Meaning.STALE_STATEMENT,  # feature not supported: "cached plan must not change result type"
    "25006": Meaning.READ_ONLY,  # read only SQL transaction
    "26000": Meaning.STALE_STATEMENT,  # invalid SQL statement name
    "28": Meaning.LOGIN_REFUSED,  # invalid authorization specification
    "3F": Meaning.NOT_INSTALLED,  # invalid schema name
    "40": Meaning.ROLLED_BACK,  # transaction rollback: serialization failure, deadlock
    "42": Meaning.NOT_INSTALLED,  # syntax error or access rule violation: undefined function, insufficient privilege
    "53": Meaning.UNAVAILABLE,  # insufficient resources: too many connections, disk full, out of memory
    "55P03": Meaning.LOCKED,  # lock not available
    "57": Meaning.UNAVAILABLE,  # operator intervention: query canceled
    "57P01": Meaning.CONNECTION_LOST,  # admin shutdown
    "57P02": Meaning.CONNECTION_LOST,  # crash shutdown
    "57P03": Meaning.CONNECTION_LOST,  # cannot connect now
    "57P05": Meaning.CONNECTION_LOST,  # idle session timeout
    "QU": Meaning.REFUSED,  # raised by functions in sql/functions
}


_STANDBY_SQLSTATES = ("0A000", "55000")
# A standby refuses to read unlogged tables and positions of the write-ahead log with a SQLSTATE that also has other
# meanings.
_STANDBY_TEXTS = ("during recovery", "recovery is in progress")


def find_meaning(sqlstate: str | None, text: str = "") -> Meaning:
    """Returns the meaning of an error. If an error has no SQLSTATE, the server closed the connection, or the client did
    not reach the server. `text` is the error's text, which identifies some errors of a standby."""
    if sqlstate is None:
        return Meaning.CONNECTION_LOST
    if sqlstate in _STANDBY_SQLSTATES and any(part in text for part in _STANDBY_TEXTS):
        return Meaning.READ_ONLY
    return SQLSTATES.get(sqlstate) or SQLSTATES.get(sqlstate[:2], Meaning.FAILED)


def find_error_meaning(error: BaseException) -> Meaning:
    """Returns the meaning of a driver's error. An error without a SQLSTATE is a lost connection."""
    return find_meaning(getattr(error, "sqlstate", None), str(error))
