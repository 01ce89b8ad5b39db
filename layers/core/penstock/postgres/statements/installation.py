"""Statements that clean and measure an installation."""

from typing import Final, NamedTuple

from penstock.postgres.statement import Statement


class CountRow(NamedTuple):
    """The number of rows that a function has changed."""

    changed: int


class FlagRow(NamedTuple):
    flag: bool


class SecretRow(NamedTuple):
    """An existing or a new secret of the installation."""

    value: bytes


SHARED_SECRET = Statement("queue.shared_secret", ("text", "bytea"), SecretRow)
MAINTAIN_QUEUE = Statement("queue.maintain_queue", ("int4",), CountRow)
MAINTAIN_INSTALLATION = Statement("queue.maintain_installation", ("int4", "int4", "text"), CountRow)
CLEAN_OUTGOING = Statement("queue.clean_outgoing", ("int4", "int4", "int4", "text[]"), CountRow)
REFRESH_STATISTICS = Statement("queue.refresh_statistics", (), CountRow)
RECLAIM_SPACE = Statement("queue.reclaim_space", (), CountRow)
CHECK_SERVER = Statement("queue.check_server", ("bool",), FlagRow)
JUMP_IDS = Statement("queue.jump_ids", ("int4",), CountRow)
CLEAN_METRICS = Statement("queue.clean_metrics", ("int4", "int4"), CountRow)
FIND_DELIVERY_EXCESS = Statement("queue.find_delivery_excess", ("int4",), CountRow)
CLEAN_SCHEDULE_RUNS = Statement("queue.clean_schedule_runs", ("int4", "int4"), CountRow)


class QueueCountsRow(NamedTuple):
    """A queue's messages by state, and the oldest waiting message's age. The age is 0 for an empty queue."""

    account_id: str
    region: str
    name: str
    visible: int
    in_flight: int
    delayed: int
    oldest_age_seconds: int


MEASURE_QUEUES = Statement("queue.measure_queues", ("int4",), QueueCountsRow)


class MeasuredRow(NamedTuple):
    """The number of queues that this round measured."""

    queues: int


STORE_MEASUREMENTS = Statement("queue.store_measurements", ("int4", "int4"), MeasuredRow)


class MinutesRow(NamedTuple):
    """The number of rows of queue.activity that were added to minutes, and the number of queues in these rows.

    `unjudged` is the number of events of the SQL interface that filters could not judge, and `unjudged_key` is the
    routing key of one of these events.
    """

    calls: int
    queues: int
    unjudged: int
    unjudged_key: str | None


STORE_MINUTES = Statement("queue.store_minutes", ("int4", "int4", "int4"), MinutesRow)


class MeasurementRow(NamedTuple):
    """A queue's last measurement, and its age in seconds. A row without ARN describes all other queues."""

    arn: str | None
    visible: int
    in_flight: int
    delayed: int
    oldest_age_seconds: float
    noisy_groups: int
    dead_lettered: int
    expired: int
    measured_seconds: float


READ_MEASUREMENTS = Statement("queue.read_measurements", ("int4",), MeasurementRow)


class InstallationRow(NamedTuple):
    """A gauge of the installation. `label` distinguishes gauges with the same name. `label` is empty if the name has
    only one gauge."""

    name: str
    label: str
    value: float


READ_INSTALLATION = Statement("queue.read_installation", (), InstallationRow)


class ServerRow(NamedTuple):
    """The database's server. Columns that the service's role cannot see are None.

    `migrations` are numbers. `sees_sessions` means that the role sees sessions of other roles, so `snapshot_seconds`
    includes these sessions.
    """

    server_version: str
    migrations: list[int]
    sees_sessions: bool
    snapshot_seconds: float
    connections: int
    max_connections: int
    wal_bytes: int | None
    slots: int | None
    kept_bytes: int | None


READ_SERVER = Statement("queue.read_server", (), ServerRow)


class ProbedRow(NamedTuple):
    """Why the database refuses changes: `disk full` or `read-only`. Empty if the database accepts changes."""

    refusal: str


PROBE_WRITE = Statement("queue.probe_write", (), ProbedRow)
DISK_FULL: Final = "disk full"
REFUSALS: Final = {"53100": DISK_FULL, "25006": "read-only"}
"""Why the database refuses changes, by the SQLSTATE of a refused change."""


class DeletedQueueRow(NamedTuple):
    arn: str


DELETED_QUEUES = Statement("queue.deleted_queues", ("text[]",), DeletedQueueRow)


class DueQueueRow(NamedTuple):
    """The next queue of the round. The id 0 means the work that does not belong to a queue."""

    queue_id: int


NEXT_QUEUES = Statement("queue.next_queues", ("text", "int4", "int4"), DueQueueRow)


class LeftoverQueueRow(NamedTuple):
    """A given queue that still has rows."""

    queue_id: int


QUEUES_WITH_LEFTOVER_ROWS = Statement("queue.queues_with_leftover_rows", ("int4[]",), LeftoverQueueRow)


class ProblemRow(NamedTuple):
    """A problem that `penstock doctor` reports, and its subject."""

    subject: str
    problem: str


FIND_PROBLEMS = Statement("queue.find_problems", ("text[]",), ProblemRow)
COUNT_CHANGES = Statement("queue.count_changes", (), CountRow)


class DueWorkRow(NamedTuple):
    """The result of `count_changes`, and the names of the notifications whose workers have work.

    `expiry_ms` is the time until the retention of the next message ends, or None if the time is longer than a day.
    """

    changes: int
    due: list[str]
    expiry_ms: int | None


DUE_WORK = Statement("queue.due_work", (), DueWorkRow)
