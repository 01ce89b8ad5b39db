"""Names that metrics had up to release 0.0.3, without a prefix of their own.

With QUEUE_METRICS_OLD_NAMES a scrape has every number of these metrics a second time, under its old name. The next
release drops the old names, and with them this module.
"""

from typing import Final

_PREFIXED = """
auth_failures_total
db_dead_tuples
db_live_tuples
db_oldest_transaction_age_seconds
db_oldest_xmin_age_transactions
db_pool_acquire_timeouts_total
db_pool_active
db_pool_idle
db_pool_size
db_pool_wait_seconds_total
db_pool_waiting
db_pool_waits_total
db_up
http_connections_open
http_connections_refused_total
http_request_duration_seconds
http_requests_total
queue_delayed
queue_delivery_attempt_duration_seconds
queue_delivery_attempts_total
queue_delivery_exhausted_total
queue_depth
queue_empty_receives_total
queue_in_flight
queue_measurement_age_seconds
queue_message_age_at_receive_seconds
queue_message_delete_duration_seconds
queue_message_receive_duration_seconds
queue_message_send_duration_seconds
queue_messages_dead_lettered_total
queue_messages_deleted_total
queue_messages_received_total
queue_messages_redelivered_total
queue_messages_sent_total
queue_noisy_groups
queue_oldest_message_age_seconds
queues_measured
schedule_fire_lag_seconds
schedule_overdue_seconds
webhook_overdue_seconds
webhook_pending
worker_last_success_timestamp_seconds
worker_run_duration_seconds
worker_runs_total
worker_work_total
"""

OLD_NAMES: Final[dict[str, str]] = {
    **{f"penstock_{name}": name for name in _PREFIXED.split()},
    "penstock_http_requests_active": "http_connections_active",
    "penstock_flush_messages": "queue_coalescer_flush_batch_size",
}
"""The old name of a metric, by its name."""
