"""Every SQL function that the service calls, with the types of its parameters. SQL itself lives in `sql/functions`."""

from penstock.effects import Statement

# --- the hot path: arrays in, rows tagged with n out -----------------------------------------------------------------
SEND_MESSAGES = Statement(
    "queue.send_messages",
    ("text[]", "uuid[]", "text[]", "int4[]", "jsonb[]", "jsonb[]", "int4[]", "text[]", "text[]", "bool"),
)
RECEIVE_MESSAGES = Statement(
    "queue.receive_messages", ("text", "int4", "int4", "int4", "int4", "bool", "text")
)
# As the columns of a ReceiptHandle.
HANDLE_TYPES = ("int4[]", "int2[]", "int8[]", "int8[]", "int4[]", "int4[]", "uuid[]")
DELETE_MESSAGES = Statement("queue.delete_messages", HANDLE_TYPES)
CHANGE_VISIBILITIES = Statement("queue.change_visibilities", (*HANDLE_TYPES, "int4[]"))

# --- queues ----------------------------------------------------------------------------------------------------------
CREATE_QUEUE = Statement(
    "queue.create_queue", ("text", "text", "text", "jsonb", "jsonb", "jsonb", "int4", "int4")
)
DESCRIBE_QUEUE = Statement("queue.describe_queue", ("text", "bool"))
LIST_QUEUES = Statement("queue.list_queue_page", ("text", "text", "text", "text", "int4"))
SET_QUEUE_ATTRIBUTES = Statement("queue.set_queue_attributes", ("text", "jsonb"))
DROP_QUEUE = Statement("queue.drop_queue", ("text",))
PURGE_MESSAGES = Statement("queue.purge_messages", ("text", "int4"))

# --- long polling ----------------------------------------------------------------------------------------------------
WATCH_QUEUES = Statement("queue.watch_queues", ("text[]", "uuid", "int4[]"))
POLL_QUEUES = Statement("queue.poll_queues", ("text[]", "text"))
READY_QUEUES = Statement("queue.ready_queues", ("text[]",))

# --- the native REST API ---------------------------------------------------------------------------------------------
PEEK_MESSAGES = Statement("queue.peek_messages", ("text", "text", "int8", "int4"))
DELETE_BY_ID = Statement("queue.delete_by_id", ("text", "int8[]"))
CHANGE_VISIBILITY_BY_ID = Statement("queue.change_visibility_by_id", ("text", "int8", "int4"))
READ_ARCHIVE = Statement("queue.read_archive", ("text", "int8", "int4"))

# --- the installation ------------------------------------------------------------------------------------------------
SHARED_SECRET = Statement("queue.shared_secret", ("text", "bytea"))
MAINTAIN_QUEUE = Statement("queue.maintain_queue", ("int4",))
MAINTAIN_INSTALLATION = Statement("queue.maintain_installation", ("int4", "int4"))
MEASURE_QUEUES = Statement("queue.measure_queues", ("int4",))
STORE_MEASUREMENTS = Statement("queue.store_measurements", ("int4", "int4"))
READ_MEASUREMENTS = Statement("queue.read_measurements", ("int4",))
READ_INSTALLATION = Statement("queue.read_installation", ())
DELETED_QUEUES = Statement("queue.deleted_queues", ("text[]",))
NEXT_QUEUES = Statement("queue.next_queues", ("text", "int4", "int4"))
QUEUES_WITH_LEFTOVER_ROWS = Statement("queue.queues_with_leftover_rows", ("int4[]",))
REFRESH_STATISTICS = Statement("queue.refresh_statistics", ())
RECLAIM_SPACE = Statement("queue.reclaim_space", ())
CHECK_SERVER = Statement("queue.check_server", ("bool",))
JUMP_IDS = Statement("queue.jump_ids", ("int4",))
FIND_PROBLEMS = Statement("queue.find_problems", ())
COUNT_CHANGES = Statement("queue.count_changes", ())
DUE_WORK = Statement("queue.due_work", ())

# --- tags, permissions, dead-letter queues ---------------------------------------------------------------------------
TAG_QUEUE = Statement("queue.tag_queue", ("text", "jsonb", "int4"))
UNTAG_QUEUE = Statement("queue.untag_queue", ("text", "text[]"))
REPLACE_POLICY = Statement("queue.replace_policy", ("text", "text", "text"))
LIST_DEAD_LETTER_SOURCES = Statement("queue.list_dead_letter_sources", ("text", "text", "int4"))

# --- message move tasks ----------------------------------------------------------------------------------------------
START_MOVE_TASK = Statement("queue.start_move_task", ("text", "text", "int4"))
LIST_MOVE_TASKS = Statement("queue.list_move_tasks", ("text", "int4"))
CANCEL_MOVE_TASK = Statement("queue.cancel_move_task", ("uuid", "text"))
RUNNING_MOVE_TASKS = Statement("queue.running_move_tasks", ())
RUN_MOVE_TASK = Statement("queue.run_move_task", ("uuid", "int4"))

# --- topics ----------------------------------------------------------------------------------------------------------
CREATE_TOPIC = Statement("queue.create_topic", ("text", "text", "text", "jsonb", "jsonb"))
DROP_TOPIC = Statement("queue.drop_topic", ("text",))
LIST_TOPICS = Statement("queue.list_topic_page", ("text", "text", "text", "int4"))
DESCRIBE_TOPIC = Statement("queue.describe_topic", ("text",))
CHANGE_TOPIC = Statement("queue.change_topic", ("text", "jsonb"))
REPLACE_TOPIC_POLICY = Statement("queue.replace_topic_policy", ("text", "text", "text"))
TAG_TOPIC = Statement("queue.tag_topic", ("text", "jsonb", "int4"))
UNTAG_TOPIC = Statement("queue.untag_topic", ("text", "text[]"))
ADD_SUBSCRIPTION = Statement(
    "queue.add_subscription",
    ("text", "uuid", "text", "text", "text", "jsonb", "jsonb", "text", "text", "int4", "int4"),
)
CONFIRM_SUBSCRIPTION = Statement("queue.confirm_subscription", ("text", "text", "bool"))
DROP_SUBSCRIPTION = Statement("queue.drop_subscription", ("text", "bool", "text"))
LIST_SUBSCRIPTIONS = Statement("queue.list_subscription_page", ("text", "text", "text", "uuid", "int4"))
DESCRIBE_SUBSCRIPTION = Statement("queue.describe_subscription", ("text",))
SET_SUBSCRIPTION_ATTRIBUTES = Statement(
    "queue.set_subscription_attributes", ("text", "jsonb", "jsonb", "jsonb", "int4", "int4")
)
PUBLISH_MESSAGES = Statement(
    "queue.publish_messages",
    (
        "uuid[]",
        "jsonb[]",
        "jsonb[]",
        "int4[]",
        "jsonb[]",
        "jsonb[]",
        "text[]",
        "text[]",
        "text[]",
        "int4[]",
        "text",
        "text",
    ),
)

# --- signatures of notifications -------------------------------------------------------------------------------------
CURRENT_SIGNING_KEY = Statement("queue.current_signing_key", ())
ADD_SIGNING_KEY = Statement("queue.add_signing_key", ("text", "bool", "bytea", "text", "bool"))
FIND_CERTIFICATE = Statement("queue.find_certificate", ("text",))

# --- events and transactions -----------------------------------------------------------------------------------------
PUBLISH_EVENTS = Statement(
    "queue.publish_events", ("text", "text", "text", "text", "jsonb", "jsonb", "jsonb", "int4", "text")
)
BIND = Statement("queue.bind", ("text", "text", "text", "text", "text", "bool", "text", "jsonb"))
UNBIND = Statement("queue.unbind", ("text", "text", "text", "int8"))
LIST_BINDINGS = Statement("queue.list_bindings", ("text", "text", "text", "text", "int8", "int4"))
MATCH_EVENT = Statement("queue.match_event", ("text", "text", "text"))
TRANSACT = Statement(
    "queue.transact",
    (*HANDLE_TYPES, *SEND_MESSAGES.types[:9], "text", "text", "text[]", "text[]",
     "jsonb[]", "jsonb[]", "jsonb[]", "int4[]", "text"),
)  # fmt: skip

# --- webhooks --------------------------------------------------------------------------------------------------------
NEXT_WEBHOOK = Statement("queue.next_webhook", ("uuid",))
CLAIM_WEBHOOKS = Statement("queue.claim_webhooks", ("int4", "uuid", "int4", "text[]", "int4[]", "int4"))
SETTLE_WEBHOOKS = Statement(
    "queue.settle_webhooks", ("int8[]", "uuid[]", "text[]", "int4[]", "text[]", "int4[]", "int4[]")
)
WEBHOOK_TRACES = Statement("queue.webhook_traces", ("int8[]",))
EXPIRE_WEBHOOKS = Statement("queue.expire_webhooks", ("int4",))
LIST_WEBHOOKS = Statement("queue.list_webhooks", ("text", "text", "int8", "int4"))
RETRY_WEBHOOK = Statement("queue.retry_webhook", ("text", "int8"))

# --- what the metrics job stored -------------------------------------------------------------------------------------
READ_METRICS = Statement("queue.read_metrics", ("text", "int4", "text", "timestamptz", "timestamptz"))
READ_LAG = Statement("queue.read_lag", ("text", "text", "text", "text", "int4"))
READ_LAG_HEAT = Statement(
    "queue.read_lag_heat", ("text", "text", "text[]", "int4", "timestamptz", "timestamptz", "int4")
)
READ_HOT_GROUPS = Statement(
    "queue.read_hot_groups", ("text", "text", "text", "int4", "timestamptz", "timestamptz", "int4")
)
READ_BUSIEST_QUEUES = Statement(
    "queue.read_busiest_queues", ("text", "text", "int4", "timestamptz", "timestamptz", "int4")
)

# --- access ----------------------------------------------------------------------------------------------------------
FIND_ACCESS_KEY = Statement("queue.find_access_key", ("text",))
FIND_BEARER_KEY = Statement("queue.find_bearer_key", ("text",))
READ_POLICIES = Statement("queue.read_policies", ("text[]",))
READ_TOPIC_POLICIES = Statement("queue.read_topic_policies", ("text[]",))
CREATE_KEY = Statement("queue.create_key", ("text", "text", "text", "bytea", "text"))
LIST_KEYS = Statement("queue.list_keys", ())
REVOKE_KEY = Statement("queue.revoke_key", ("text",))

# --- schedules: for the APIs -----------------------------------------------------------------------------------------
PUT_SCHEDULE = Statement(
    "queue.put_schedule", ("text", "text", "text", "text", "text", "jsonb", "timestamptz")
)
READ_SCHEDULE = Statement("queue.read_schedule", ("text", "text", "text", "text"))
DROP_SCHEDULE = Statement("queue.drop_schedule", ("text", "text", "text", "text"))
LIST_SCHEDULES = Statement(
    "queue.list_schedule_page",
    ("text", "text", "text", "text", "text", "text", "text", "text", "text", "int4"),
)
SYNC_SCHEDULES = Statement(
    "queue.sync_schedules", ("text", "text", "text[]", "jsonb[]", "timestamptz[]", "bool")
)
RUN_SCHEDULE = Statement("queue.run_schedule", ("text", "text", "text", "text"))
LIST_SCHEDULE_RUNS = Statement("queue.list_schedule_runs", ("text", "text", "text", "text", "int8", "int4"))
PUT_SCHEDULE_GROUP = Statement("queue.put_schedule_group", ("text", "text", "text", "jsonb", "text"))
READ_SCHEDULE_GROUP = Statement("queue.read_schedule_group", ("text", "text", "text"))
LIST_SCHEDULE_GROUPS = Statement("queue.list_schedule_group_page", ("text", "text", "text", "text", "int4"))
DROP_SCHEDULE_ONCE = Statement("queue.drop_schedule_once", ("text", "text", "text", "text", "text"))
TAG_SCHEDULE_GROUP = Statement("queue.tag_schedule_group", ("text", "text", "text", "jsonb", "int4"))
UNTAG_SCHEDULE_GROUP = Statement("queue.untag_schedule_group", ("text", "text", "text", "text[]"))

# --- schedules: for the worker ---------------------------------------------------------------------------------------
NEXT_SCHEDULE = Statement("queue.next_schedule", ())
CLAIM_SCHEDULES = Statement("queue.claim_schedules", ("int4",))
SCHEDULE_INPUTS = Statement("queue.schedule_inputs", ("int8[]", "timestamptz[]"))
FIRE_SCHEDULES = Statement(
    "queue.fire_schedules", ("int8[]", "timestamptz[]", "text[]", "int4[]", "timestamptz[]", "jsonb[]")
)
CLAIM_SCHEDULE_RETRIES = Statement("queue.claim_schedule_retries", ("int4",))
FIRE_SCHEDULE_RETRIES = Statement("queue.fire_schedule_retries", ("int8[]", "jsonb[]"))
CLEAN_METRICS = Statement("queue.clean_metrics", ("int4", "int4"))
CLEAN_SCHEDULE_RUNS = Statement("queue.clean_schedule_runs", ("int4", "int4"))
