"""Lists the metrics. A test compares the list with docs/reference/prometheus.md. Names follow Prometheus's conventions
("Metric and label naming", prometheus.io). A block is a group of families with the same labels. A process allocates and
counts a block's families together.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from penstock.postgres.statements.installation import MeasurementRow

from .bus_families import BUS_READINGS
from .family import Family

REQUEST_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
DATABASE_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)
AGE_SECONDS: Final = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0)
ATTEMPT_SECONDS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
FLUSH_MESSAGES: Final = (1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0)
LATENESS_SECONDS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0)
INVOCATION_SECONDS: Final = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0)
RUN_SECONDS: Final = (0.001, 0.01, 0.1, 1.0, 10.0, 60.0)


class Block(NamedTuple):
    """Groups families that have the same labels."""

    labels: tuple[str, ...]
    families: tuple[Family, ...]

    @property
    def slots(self) -> int:
        """Returns how many numbers a series has in all families."""
        return sum(family.slots for family in self.families)

    def find_slot(self, name: str) -> int:
        """Returns the position of a family's first number among the numbers of a series."""
        names = [family.name for family in self.families]
        return sum(family.slots for family in self.families[: names.index(name)])


BLOCKS: Final[dict[str, Block]] = {
    "requests": Block(
        ("method", "path", "status"),
        (
            Family(
                "penstock_http_requests_total", "counter", "Requests answered, by action (sqs:SendMessage) or route."
            ),
        ),
    ),
    "durations": Block(
        ("method", "path"),
        (
            Family(
                "penstock_http_request_duration_seconds",
                "histogram",
                "Time from a request's headers to its response, including a long poll's wait.",
                REQUEST_SECONDS,
            ),
        ),
    ),
    "active": Block((), (Family("penstock_http_requests_active", "gauge", "Requests that run or wait."),)),
    "connections": Block(
        (),
        (
            Family("penstock_http_connections_open", "gauge", "Client connections, including idle connections."),
            Family("penstock_http_connections_refused_total", "counter",
                   "Connections refused because too many were open, in all or from one address."),
        ),
    ),
    "refusals": Block(
        ("code",),
        (Family("penstock_auth_failures_total", "counter", "Requests that QUEUE_ACCESS or a policy refused."),),
    ),
    "sends": Block(
        ("queue",),
        (
            Family(
                "penstock_queue_messages_sent_total",
                "counter",
                "Messages that requests stored, not counting duplicates.",
            ),
            Family(
                "penstock_queue_message_send_duration_seconds",
                "histogram",
                "Time of a send's database call, including the wait for a merged call.",
                DATABASE_SECONDS,
            ),
        ),
    ),
    "receives": Block(
        ("queue",),
        (
            Family("penstock_queue_messages_received_total", "counter", "Messages delivered to consumers."),
            Family("penstock_queue_messages_redelivered_total", "counter",
                   "Messages delivered to consumers again."),
            Family("penstock_queue_empty_receives_total", "counter", "Receive requests that ended without a message."),
            Family(
                "penstock_queue_message_receive_duration_seconds",
                "histogram",
                "Time of a receive's database call, including the wait for a merged call but not a long poll's wait; 0 "
                "if a send handed the messages over.",
                DATABASE_SECONDS,
            ),
            Family(
                "penstock_queue_message_age_at_receive_seconds",
                "histogram",
                "Age of messages at their first delivery.",
                AGE_SECONDS,
            ),
        ),
    ),
    "deletes": Block(
        ("queue",),
        (
            Family("penstock_queue_messages_deleted_total", "counter", "Messages acknowledged."),
            Family(
                "penstock_queue_message_delete_duration_seconds",
                "histogram",
                "Time of a delete's database call, including the wait for a merged call.",
                DATABASE_SECONDS,
            ),
        ),
    ),
    "unjudged": Block(
        ("by",),
        (
            Family(
                "penstock_filter_unjudged_messages_total",
                "counter",
                "Messages that passed a filter because they were too complex to examine.",
            ),
        ),
    ),
    "mappings": Block(
        ("queue",),
        (
            Family("penstock_mapping_invocations_total", "counter", "Invocations by the queue's mappings."),
            Family("penstock_mapping_failed_invocations_total", "counter", "Invocations that failed as a whole."),
            Family(
                "penstock_mapping_polled_messages_total", "counter",
                "Messages received for mappings (PolledEventCount)."
            ),
            Family(
                "penstock_mapping_filtered_messages_total",
                "counter",
                "Polled messages that a filter left out (FilteredOutEventCount).",
            ),
            Family(
                "penstock_mapping_invoked_messages_total",
                "counter",
                "Messages passed to a function (InvokedEventCount).",
            ),
            Family(
                "penstock_mapping_failed_messages_total",
                "counter",
                "Messages that a function failed to handle (FailedInvokeEventCount).",
            ),
            Family(
                "penstock_mapping_deleted_messages_total",
                "counter",
                "Messages deleted after they were handled (DeletedEventCount).",
            ),
            Family(
                "penstock_mapping_invocation_duration_seconds",
                "histogram",
                "Time from an invocation to its response.",
                INVOCATION_SECONDS,
            ),
            Family(
                "penstock_mapping_oldest_message_age_seconds",
                "histogram",
                "Age of a batch's oldest message when the function is invoked.",
                AGE_SECONDS,
            ),
        ),
    ),
    "access_log": Block(
        (),
        (
            Family(
                "penstock_access_log_dropped_lines_total", "counter", "Access log lines that the service dropped."
            ),
        ),
    ),
    "flushes": Block(
        (),
        (
            Family(
                "penstock_flush_messages",
                "histogram",
                "Messages that one database call stored for all the requests that it served.",
                FLUSH_MESSAGES,
            ),
        ),
    ),
    "attempts": Block(
        ("outcome",),
        (
            Family(
                "penstock_queue_delivery_attempts_total",
                "counter",
                "Delivery attempts, by outcome.",
            ),
            Family(
                "penstock_queue_delivery_attempt_duration_seconds",
                "histogram",
                "Time of a delivery attempt, from connecting to the response.",
                ATTEMPT_SECONDS,
            ),
        ),
    ),
    "exhausted": Block(
        (),
        (
            Family(
                "penstock_queue_delivery_exhausted_total",
                "counter",
                "Deliveries given up after their last attempt, including deliveries moved to a dead-letter queue.",
            ),
        ),
    ),
    "failed_redrives": Block(
        (),
        (
            Family(
                "penstock_queue_delivery_failed_redrives_total",
                "counter",
                "Given-up deliveries that the dead-letter queue could not store.",
            ),
        ),
    ),
    "fires": Block(
        (),
        (
            Family(
                "penstock_schedule_fire_lag_seconds",
                "histogram",
                "How late schedules fired, except those with a flexible window or jitter.",
                LATENESS_SECONDS,
            ),
        ),
    ),
    "runs": Block(
        ("worker", "outcome"),
        (
            Family("penstock_worker_runs_total", "counter", "Runs of background workers, by outcome."),
            Family(
                "penstock_worker_run_duration_seconds",
                "histogram",
                "Duration of runs; deliver and fire run while work is due.",
                RUN_SECONDS,
            ),
        ),
    ),
    "successes": Block(
        ("worker",),
        (
            Family(
                "penstock_worker_last_success_timestamp_seconds",
                "gauge",
                "Time of the last run without an error, or of the last check that found nothing to do.",
                (),
                True,
            ),
        ),
    ),
    "last_runs": Block(
        ("worker",),
        (
            Family(
                "penstock_worker_last_run_failed",
                "gauge",
                "1 if the last run ended with an error in any process, else 0.",
                (),
                True,
            ),
        ),
    ),
    "work": Block(
        ("worker", "what"),
        (Family("penstock_worker_work_total", "counter", "Work done by workers, by kind of work."),),
    ),
    "pool": Block(
        (),
        (
            Family("penstock_db_pool_size", "gauge", "Database connections in the pool, idle and active."),
            Family("penstock_db_pool_idle", "gauge", "Idle connections in the pool."),
            Family("penstock_db_pool_active", "gauge", "Active connections in the pool."),
            Family("penstock_db_pool_waiting", "gauge", "Calls that are waiting for a connection."),
        ),
    ),
    "pool_waits": Block(
        (),
        (
            Family("penstock_db_pool_acquire_timeouts_total", "counter", "Calls that got no connection in time."),
            Family("penstock_db_pool_waits_total", "counter", "Calls that had to wait for a connection."),
            Family("penstock_db_pool_wait_seconds_total", "counter", "Time that calls waited for a connection."),
        ),
    ),
    "build": Block(
        ("version", "python"), (Family("penstock_build_info", "gauge", "Always 1.", (), True),)
    ),
    "processes": Block((), (Family("penstock_processes", "gauge", "Processes that share this port."),)),
}  # fmt: skip

QUEUE_GAUGES: Final[tuple[tuple[Family, Callable[[MeasurementRow], float]], ...]] = (
    (Family("penstock_queue_depth", "gauge", "Messages that can be received now."), lambda row: row.visible),
    (
        Family("penstock_queue_in_flight", "gauge", "Messages received but not yet acknowledged."),
        lambda row: row.in_flight,
    ),
    (
        Family("penstock_queue_delayed", "gauge", "Messages that cannot be received for the first time yet."),
        lambda row: row.delayed,
    ),
    (
        Family("penstock_queue_oldest_message_age_seconds", "gauge", "Age of the oldest message; 0 in an empty queue."),
        lambda row: row.oldest_age_seconds,
    ),
    (
        Family(
            "penstock_queue_noisy_groups",
            "gauge",
            "Noisy groups of a fair queue, whose messages are delivered after other groups' messages.",
        ),
        lambda row: row.noisy_groups,
    ),
    (
        Family("penstock_queue_messages_dead_lettered_total", "counter", "Messages moved to the dead-letter queue."),
        lambda row: row.dead_lettered,
    ),
    (
        Family(
            "penstock_queue_messages_expired_total",
            "counter",
            "Messages deleted because their retention period was over.",
        ),
        lambda row: row.expired,
    ),
)
"""Lists the gauges that have the label `queue`. A function reads each gauge's value from a row of
`queue.read_measurements`."""

READINGS: Final[dict[str, tuple[Family, str]]] = {
    "dead_rows": (
        Family("penstock_db_dead_tuples", "gauge", "Dead rows in the table, as PostgreSQL estimates."),
        "table",
    ),
    "live_rows": (Family("penstock_db_live_tuples", "gauge", "Rows in the table, as PostgreSQL estimates."), "table"),
    "oldest_xmin": (
        Family(
            "penstock_db_oldest_xmin_age_transactions",
            "gauge",
            "Transactions since the oldest snapshot that holds back vacuum in this database.",
        ),
        "",
    ),
    "oldest_transaction": (
        Family("penstock_db_oldest_transaction_age_seconds", "gauge",
               "Age of the oldest open transaction in the database."),
        "",
    ),
    "schedules_overdue": (
        Family("penstock_schedule_overdue_seconds", "gauge", "Time since the most overdue schedule was due."),
        "",
    ),
    "metrics_job_succeeded": (
        Family(
            "penstock_metrics_job_last_success_timestamp_seconds",
            "gauge",
            "Time of the metrics job's last run without an error; missing before the first such run.",
        ),
        "",
    ),
    "metrics_job_failures": (
        Family(
            "penstock_metrics_job_failed_runs",
            "gauge",
            "Failed runs of the metrics job since its last run without an error.",
        ),
        "",
    ),
    "metrics_job_failed": (
        Family("penstock_metrics_job_last_run_failed", "gauge",
               "1 if the metrics job's last run ended with an error, else 0."),
        "",
    ),
    "metrics_job_seconds": (
        Family(
            "penstock_metrics_job_last_run_duration_seconds", "gauge", "Duration of the metrics job's last run."
        ),
        "",
    ),
    "deliveries_pending": (Family("penstock_delivery_pending", "gauge", "Deliveries that wait for an attempt."), ""),
    "endpoints_paused": (
        Family("penstock_delivery_paused_endpoints", "gauge",
               "Endpoints whose deliveries wait because the endpoints failed."),
        "",
    ),
    "endpoints_failing": (
        Family(
            "penstock_delivery_failing_endpoints",
            "gauge",
            "Endpoints that have answered no attempt for two minutes and are not paused.",
        ),
        "",
    ),
    **BUS_READINGS,
    "deliveries_overdue": (
        Family("penstock_delivery_overdue_seconds", "gauge", "Time since the most overdue delivery was due."),
        "",
    ),
}  # fmt: skip
"""Maps the installation's gauges in `queue.reading` to the names of their labels, or to "". A
space separates two names, and the values in the rows."""

DATABASE_UP: Final = Family("penstock_db_up", "gauge", "Whether the measurements could be read from the database.")
DATABASE_WRITABLE: Final = Family(
    "penstock_db_writable", "gauge", "Whether the database accepts changes; 0 if its disk is full or it is read-only."
)
MEASUREMENT_AGE: Final = Family(
    "penstock_queue_measurement_age_seconds",
    "gauge",
    "Age of the oldest queue gauge; a large value means that no worker measures.",
)
QUEUES_MEASURED: Final = Family(
    "penstock_queues_measured", "gauge", "Queues that have separate gauges; _other covers all other queues."
)

VERDICT: Final = Family(
    "penstock_queue_verdict", "gauge", "Always 1; the label verdict is the queue's state in the last minutes."
)
UNTIL_EMPTY: Final = Family(
    "penstock_queue_until_empty_seconds",
    "gauge",
    "Time until the backlog is gone; missing if there is no backlog, or if the backlog does not shrink at the current "
    "rates.",
)
SINCE_RECEIVE: Final = Family(
    "penstock_queue_since_receive_seconds",
    "gauge",
    "Time since the last receive that returned a message; missing if no such receive is known.",
)
DEAD_LETTER_QUEUE: Final = Family(
    "penstock_queue_is_dead_letter_queue", "gauge", "1 if the queue is another queue's dead-letter queue."
)
UNTIL_RETENTION: Final = Family(
    "penstock_queue_until_retention_seconds",
    "gauge",
    "Time until messages expire unread, as the metrics job forecasts; missing if the forecast expects no expiry within "
    "days.",
)
NEVER_CATCHES_UP: Final = Family(
    "penstock_queue_never_catches_up",
    "gauge",
    "1 if fewer messages are deleted in the queue's best hour than arrive in an average hour, according to the metrics "
    "job.",
)
QUEUE_VERDICTS: Final[dict[Family, tuple[str, ...]]] = {
    VERDICT: ("queue", "verdict"),
    UNTIL_EMPTY: ("queue",),
    SINCE_RECEIVE: ("queue",),
    DEAD_LETTER_QUEUE: ("queue",),
    UNTIL_RETENTION: ("queue",),
    NEVER_CATCHES_UP: ("queue",),
}
"""Lists the families of named queues, with their labels."""
