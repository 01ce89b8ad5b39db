"""Declares the name, default, bounds, unit, text and secrecy of every setting. The default's type is the setting's
type.

From these declarations `make generate` writes docs/reference/settings.md, the Helm chart's schema, Terraform's
`settings` and the variables of compose.yaml. A name ends with the setting's unit, as in `_SECONDS`, `_MS` and `_BYTES`.
The specification of Penstock gives QUEUE_DEFAULT_VISIBILITY_TIMEOUT and QUEUE_HTTP_DELIVERY_TIMEOUT_SECS their names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn

from penstock.limits.queue_limits import MAX_VISIBILITY_SECONDS

from . import formats
from .setting import Setting, SettingError, Subject, Value

DRIVERS: Final = ("psycopg", "pg8000")

IAM_TOKEN: Final = "in-place-of-a-token-of-iam"  # noqa: S105 - no real password
"""The password in an address if QUEUE_DATABASE_AUTH is `iam`. Each new connection has a token in place of the
password."""

EVERYWHERE: Final = ("0.0.0.0", "::")  # noqa: S104 - compared, not bound

PROTOCOLS: Final[dict[str, tuple[str, ...]]] = {
    "gateway": ("sms", "application"),
    "http": (),
    "lambda": ("lambda",),
    "mail": ("email", "email-json"),
}
"""The SNS protocols whose outgoing messages a carrier of deliveries takes."""


class Settings:
    """The values of all settings. The values do not change, but `replace` returns a changed copy.

    A `Subject` is the subject of the settings that follow it.
    """

    # fmt: off
    _database = Subject("Database")
    database_url = Setting("", unit="address", secret=True, help="The address of PostgreSQL 15 or newer, directly or "
        "through PgBouncer. Without a value, `penstock up` starts its own PostgreSQL. Every other process needs a "
        "value.")
    database_direct_url = Setting("", unit="address", secret=True, help="The address of the same database without a "
        "pooler. The service uses this address for LISTEN, which does not work through a pooler, for migrations, and "
        "for a few busy connections. Without a value, the service uses `DATABASE_URL`.")
    queue_secret = Setting("", unit="name or ARN", help="The AWS Secrets Manager secret that functions read when they "
        "start, and again when they cannot connect. The secret is a JSON object of settings, such as `DATABASE_URL` "
        "and `QUEUE_ENCRYPTION_KEY`, which take precedence over the function's variables. A function with the variable "
        "`DATABASE_URL` ignores the secret.")
    queue_database_auth = Setting("password", choices=("password", "iam"), help="How connections to RDS authenticate. "
        "`password` uses the password in the address. `iam` uses a token from the process's AWS credentials, and "
        "requires `sslmode=verify-full` in the addresses. See [Connect to "
        "PostgreSQL](../operate/database.md#iam-database-authentication).")
    queue_max_connections = Setting(10, unit="connections", minimum=1, help="The maximum number of a process's "
        "database connections, not counting the connection that listens. Half of the connections, up to four, go to "
        "`DATABASE_DIRECT_URL`.")
    queue_pool_timeout_ms = Setting(2000, unit="ms", minimum=1, help="How long a request waits for a free database "
        "connection. After this time the request fails with 503.")
    queue_database_call_timeout_ms = Setting(8000, unit="ms", minimum=100, help="The maximum duration of a database "
        "call. Calls that clean, measure or move messages can take three times as long. For a longer call, the service "
        "closes the connection and returns 503, although the call may have taken effect.")
    queue_database_driver = Setting("psycopg", choices=DRIVERS, help="The PostgreSQL driver of Lambda functions. "
        "`pg8000` takes less time to import, but more time for each call.")

    _addresses = Subject("Addresses, accounts and regions")
    queue_address = Setting("0.0.0.0:9324", unit="host:port", format=formats.ADDRESS, help="The address on which the "
        "service listens. `penstock up` listens on 127.0.0.1 unless this variable or `--host` is set.")
    queue_base_url = Setting("", unit="address", format=formats.BASE_URL, help="The start of queue URLs, "
        "`{QUEUE_BASE_URL}/{account}/{queue}`, and of links in SNS messages. The URL has the region before the "
        "account if the region is not `QUEUE_REGION`. Without a value, the service uses the address that the client "
        "used. See [Links](../operate/hosts.md#links).")
    queue_allowed_hosts = Setting("", unit="hosts", format=formats.HOSTS, help="The names under which clients reach "
        "the service, separated by commas. Examples are `queues.example.com`, `*.example.com` for all names below "
        "`example.com`, and `*` for any name. IP addresses, names without a dot, names below `localhost`, `internal` "
        "and `svc`, and the host of `QUEUE_BASE_URL` need no entry. See [Hosts](../operate/hosts.md#hosts).")
    queue_trust_forwarded = Setting(False, help="Takes the client's address from the last address of "
        "`X-Forwarded-For`, the scheme of queue URLs from `X-Forwarded-Proto`, and their host from `X-Forwarded-Host` "
        "if the service would accept it as `Host`. Set this variable only behind a proxy that sets these headers.")
    queue_account_id = Setting("000000000000", unit="12 digits", format=formats.ACCOUNT, help="The account of callers "
        "whose access key id is not a 12-digit account id.")
    queue_region = Setting("us-east-1", format=formats.REGION, help="The region of requests that name no region.")
    queue_regions = Setting("", unit="regions", format=formats.REGIONS, help="The regions that this installation "
        "serves, separated by commas, including `QUEUE_REGION`. The service refuses requests for other regions, and "
        "schedules with a target in another region. Without a value, the service serves any region. See [Beyond one "
        "database server](../operate/scaling.md).")

    _access = Subject("Access")
    queue_access = Setting("off", choices=("off", "presence", "sigv4"), help="Which clients can call the service. "
        "`off` accepts clients with any credentials or none. `presence` accepts clients that send any credentials. "
        "`sigv4` accepts clients that sign with a key from `penstock keys`. See [Access](../operate/access.md).")
    queue_encryption_key = Setting("", unit="32 bytes, base64", secret=True, format=formats.ENCRYPTION_KEY, help="The "
        "key that encrypts the secrets of access keys, webhook event sources and connections in the database. "
        "`QUEUE_ACCESS=sigv4`, `penstock keys create`, webhook event sources and connections need this key.")
    queue_access_cache_seconds = Setting(30, unit="seconds", minimum=0, help="How long a process caches an access key. "
        "A revocation takes effect after this time. With 0, each request reads the key from the database.")
    queue_refuse_kms = Setting(False, help="Refuses queues, topics and schedules that name a KMS key. Penstock does "
        "not use KMS keys. See [Security](../operate/security.md).")

    _console = Subject("Console, assistants and test suites")
    queue_console = Setting("", choices=("off", "read", "full"), help="What people can do in the console at "
        "`/console`. See [Console](../guides/console.md). With `off`, the service has no console. With `read`, people "
        "can read data. With `full`, people can do everything that the rights of their user allow. Without a "
        "value, the console is `full` with `QUEUE_ACCESS=sigv4`, or if `penstock up` listens only on a loopback "
        "address. In all other cases the console is `off`. With `QUEUE_ACCESS=presence`, the console is always off.")
    queue_mcp = Setting(False, help="Serves the Model Context Protocol at `/mcp`, for programs that assist an "
        "operator. The protocol can only read. See [MCP, for assistants](../guides/mcp.md). The service needs `pip "
        "install 'penstock-queue[mcp]'`.")
    queue_peek_endpoint = Setting(False, help="Serves LocalStack's `GET /_aws/sqs/messages`, with which test suites "
        "read messages without receiving them.")
    queue_localstack_health = Setting(False, help="Serves `GET /_localstack/health` for scripts that wait for "
        "LocalStack. The request needs no credentials.")

    _queues = Subject("Queues")
    queue_default_visibility_timeout = Setting(30, unit="seconds", minimum=0, maximum=MAX_VISIBILITY_SECONDS, help=
        "The default VisibilityTimeout of new queues. `penstock migrate` stores the number for the SQL function "
        "`queue.create`.")
    queue_in_flight_limit = Setting(120_000, unit="messages", minimum=0, help="The approximate maximum number of a "
        "queue's messages in flight, as on AWS. Beyond the limit, short polls of a standard queue fail with "
        "`OverLimit`, and a FIFO queue returns no messages. If the limit is below 100,000, every receive counts the "
        "messages. 0 means no limit.")
    queue_purge_interval_seconds = Setting(60, unit="seconds", minimum=0, help="The minimum time between two "
        "PurgeQueue calls for a queue, as on AWS. 0 means no limit.")
    queue_recreate_interval_seconds = Setting(60, unit="seconds", minimum=0, help="The minimum time between "
        "DeleteQueue and CreateQueue of the same name, as on AWS. 0 means no limit.")
    queue_shards = Setting(4, unit="writers", minimum=1, maximum=64, help="How many transactions can write to a new "
        "queue at the same time. With a higher number, an empty receive takes slightly longer. `penstock migrate` "
        "stores the number for the SQL function `queue.create`.")

    _requests = Subject("Requests")
    queue_request_timeout_seconds = Setting(30, unit="seconds", minimum=1, help="The maximum duration of a request, "
        "not counting the wait of a long poll. A longer request fails with 408.")
    queue_linger_ms = Setting(0, unit="ms", minimum=0, help="How long a send waits for other sends that can share its "
        "database call. With 0, only sends that arrive during an earlier call share a call.")
    queue_batch_limit = Setting(16_384, unit="requests", minimum=1, help="If this number of requests waits for shared "
        "database calls, the service refuses further requests with 503. A batch of messages counts as one request.")
    queue_drain_seconds = Setting(4, unit="seconds", minimum=0, help="How long the service waits for current requests "
        "after SIGTERM or Ctrl-C.")

    _quotas = Subject("Limits of an account")
    quota_requests_per_second = Setting(0, unit="requests", minimum=0, help="The maximum number of requests a second "
        "that a process takes from an account. Unless `QUEUE_ACCESS` is `sigv4`, the limit applies to an address "
        "instead of an account. Each 64 KiB count as one request. Further requests fail with `RequestThrottled`. See "
        "[Quotas](../operate/quotas.md). 0 means no limit.")
    quota_queues = Setting(100_000, unit="queues", minimum=0, help="The maximum number of queues in an account. "
        "The next request fails with `OverLimit`. 0 means no limit.")
    quota_topics = Setting(100_000, unit="topics", minimum=0, help="The maximum number of topics in an account, as on "
        "AWS. The next request fails with `TopicLimitExceeded`. 0 means no limit.")
    quota_subscriptions = Setting(12_500_000, unit="subscriptions", minimum=0, help="The maximum number of "
        "subscriptions in an account. On AWS, the limit applies to a topic. The next request fails with "
        "`SubscriptionLimitExceeded`. 0 means no limit.")
    quota_schedules = Setting(10_000_000, unit="schedules", minimum=0, help="The maximum number of schedules in an "
        "account. On AWS, the limit applies to a region. The next request fails with `ServiceQuotaExceededException`. "
        "0 means no limit.")
    quota_firings_per_second = Setting(1000, unit="firings", minimum=0, help="The approximate maximum number of times "
        "a second that an account's schedules fire, including retries, as on AWS. Further schedules fire later. 0 "
        "means no limit.")
    quota_mappings = Setting(10_000, unit="mappings", minimum=0, help="The maximum number of event source mappings in "
        "an account. The next request fails with `InvalidParameterValueException`. 0 means no limit.")
    quota_event_buses = Setting(5, unit="event buses", minimum=0, help="The maximum number of event buses in an "
        "account, as on AWS. On AWS, the limit applies to a region. The next request fails with "
        "`LimitExceededException`. 0 means no limit.")
    quota_event_subscribers = Setting(10_000, unit="subscribers", minimum=0, help="The maximum number of subscribers "
        "of an event bus, as on AWS. The next request fails with `LimitExceededException`. 0 means no limit.")
    quota_event_sources = Setting(200, unit="event sources", minimum=0, help="The maximum number of event sources in "
        "an account, as on AWS. On AWS, the limit applies to a region. The next request fails with "
        "`LimitExceededException`. 0 means no limit.")
    quota_connections = Setting(3_000, unit="connections", minimum=0, help="The maximum number of connections of API "
        "destinations in an account, as on AWS. On AWS, the limit applies to a region. The next request fails with "
        "429. 0 means no limit.")
    quota_api_destinations = Setting(3_000, unit="API destinations", minimum=0, help="The maximum number of API "
        "destinations in an account, as on AWS. On AWS, the limit applies to a region. The next request fails with "
        "429. 0 means no limit.")
    quota_deliveries = Setting(1_000_000, unit="deliveries", minimum=0, help="The approximate maximum number of an "
        "account's waiting deliveries. The same limit applies to the waiting messages of each protocol for the gateway "
        "or the mail server. Further publishes fail with `Throttled`. 0 means no limit.")
    quota_platform_applications = Setting(10_000, unit="applications", minimum=0, help="The maximum number of "
        "platform applications in an account. The next request fails with `InvalidParameter`. 0 means no limit.")
    quota_platform_endpoints = Setting(10_000_000, unit="endpoints", minimum=0, help="The maximum number of endpoints "
        "of platform applications in an account. The next request fails with `InvalidParameter`. 0 means no limit.")
    quota_opted_out_numbers = Setting(1_000_000, unit="phone numbers", minimum=0, help="The maximum number of phone "
        "numbers that an account can record as opted out, including numbers that opted in again. Beyond the limit, the "
        "REST API returns 429. 0 means no limit.")

    _topics = Subject("Topics")
    sns_topic_filter_policies = Setting(200, unit="subscriptions", minimum=0, help="The maximum number of "
        "subscriptions of a topic that have a filter policy, as on AWS. The next request fails with "
        "`FilterPolicyLimitExceeded`. 0 means no limit.")
    sns_account_filter_policies = Setting(10_000, unit="subscriptions", minimum=0, help="The maximum number of "
        "subscriptions of an account, in a region, that have a filter policy, as on AWS. 0 means no limit.")
    sns_cert_host = Setting("", unit="host", format=formats.HOST, help="The host of `SigningCertURL` in SNS messages. "
        "Some validators accept only AWS's names, `sns.<region>.amazonaws.com`. For those validators, let your DNS "
        "resolve AWS's name to the service. Without a value, the URL has the host of the message's other links.")

    _webhooks = Subject("Webhooks")
    queue_http_delivery_enabled = Setting(True, help="Delivers messages to subscribed HTTP(S) endpoints "
        "([Webhooks](webhooks.md)), functions, the gateway, the mail server and "
        "[API destinations](api_destinations.md).")
    queue_http_delivery_poll_ms = Setting(1000, unit="ms", minimum=10, help="The maximum pause between two queries for "
        "due deliveries, and for events of buses. The next retry ends the pause. Where LISTEN works, a publish also "
        "ends the pause.")
    queue_http_delivery_timeout_secs = Setting(5, unit="seconds", minimum=1, maximum=15, help="The maximum time that "
        "the endpoint of an event can take to respond, including the time to connect. For subscriptions of SNS topics "
        "the maximum is 15 seconds, as on AWS.")
    queue_http_delivery_batch_size = Setting(50, unit="deliveries", minimum=1, maximum=1000, help="The maximum number "
        "of deliveries that a process claims at once, and the maximum number of its concurrent requests.")
    webhook_allow_cidrs = Setting("", unit="networks", help="The private networks that webhooks and API destinations "
        "can reach, separated by commas, such as `10.0.0.0/8,fd00::/8`. Without a value, they can reach only public "
        "addresses.")
    webhook_signing_secret = Setting("", unit="whsec_…", secret=True, help="The secret that signs webhooks of events "
        "in the format of Standard Webhooks. The secret is `whsec_` and the base64 text of 24 to 64 bytes. To change "
        "the secret, set both the new and the old secret, separated by a space. The service signs with both secrets.")
    webhook_log_responses = Setting(False, help="Keeps the first KiB of each endpoint's response in the log of "
        "attempts, for administrators. The log never has responses from networks in `WEBHOOK_ALLOW_CIDRS`.")

    _mails = Subject("E-mail, text messages and push")
    sns_smtp_url = Setting("", unit="address", secret=True, format=formats.MAIL_SERVER, help="The mail server for "
        "subscriptions, as `smtp[s]://[user:password@]host[:port]`. See [E-mail](email.md). `smtps` uses TLS and port "
        "465. `smtp` uses STARTTLS and port 587, and sends no password without STARTTLS. The workers `deliver` and "
        "`maintain` need this variable. Without a value, the service keeps the mails.")
    sns_mail_from = Setting("", unit="address", format=formats.MAIL_SENDER, help="The sender of e-mail, such as "
        "`Notifications <no-reply@example.com>`. `SNS_SMTP_URL` needs a sender.")
    sns_gateway_url = Setting("", unit="address", hidden=True, format=formats.GATEWAY_URL, help="The gateway for text "
        "messages and mobile push. The gateway can be in a private network. `WEBHOOK_SIGNING_SECRET` signs each POST. "
        "See [Gateway](text_messages.md#gateway). The workers `deliver` and `maintain` need this variable. Without a "
        "value, the service keeps the messages.")
    sns_outbox_days = Setting(7, unit="days", minimum=1, maximum=3650, help="How long the service keeps outgoing "
        "messages without a carrier. See [Outbox](text_messages.md#outbox).")
    quota_confirmation_mails = Setting(10, unit="mails", minimum=0, help="The maximum number of mails an hour that ask "
        "addresses to confirm an account's subscriptions. Further mails wait. An address receives at most one mail an "
        "hour. 0 means no limit.")
    quota_text_messages = Setting(1_000, unit="messages", minimum=0, help="The maximum number of an account's text "
        "messages that the gateway receives on one day (UTC). Further messages fail with `TextMessageQuotaExceeded`. 0 "
        "means no limit.")
    quota_outbox = Setting(100_000, unit="messages", minimum=0, help="The approximate maximum number of an account's "
        "outgoing messages that the service keeps. The service keeps the newest messages, and messages that a gateway "
        "has not accepted yet. 0 means no limit.")

    _schedules = Subject("Schedules")
    queue_schedule_enabled = Setting(True, help="Fires schedules. A process with `false` stores schedules, and other "
        "processes and functions fire them.")
    queue_schedule_poll_ms = Setting(1000, unit="ms", minimum=1, help="The maximum pause between two queries for due "
        "schedules. A process sleeps until the next schedule is due. Where LISTEN works, a new schedule that is due "
        "sooner wakes the process.")
    queue_schedule_batch_size = Setting(32, unit="schedules", minimum=1, maximum=1000, help="The maximum number of "
        "schedules that a process fires in one transaction.")
    queue_schedule_misfire_grace_seconds = Setting(60, unit="seconds", minimum=0, help="How late a recurring schedule "
        "of REST or SQL without `catchup` can fire. The service skips later firings. One-time schedules of REST and "
        "SQL always fire. Schedules of EventBridge Scheduler fire until `MaximumEventAgeInSeconds` has passed.")
    queue_schedule_history_seconds = Setting(604_800, unit="seconds", minimum=60, help="How long the service lists the "
        "runs of schedules.")
    queue_schedule_preview_count = Setting(5, unit="times", minimum=1, maximum=100, help="How many future times the "
        "responses of `/v1/schedules` and `/v1/previews` show.")
    queue_schedule_list_max = Setting(1000, unit="schedules", minimum=1, help="The maximum number of schedules in a "
        "response of `GET /v1/schedules`.")

    _functions = Subject("Functions that Penstock invokes")
    queue_lambda_endpoint = Setting("", unit="address", help="The address at which event source mappings, "
        "subscriptions and schedules invoke functions. Examples are `https://lambda.eu-central-1.amazonaws.com`, and "
        "the address of an emulator such as `sam local start-lambda`. Without a value, mappings need a URL, and the "
        "outbox keeps messages for functions.")
    queue_lambda_functions = Setting("", unit="names or ARNs", help="The names or ARNs of the functions that this "
        "installation can invoke, separated by commas. `*` matches any characters. Without a value, the installation "
        "can invoke any function if `QUEUE_ACCESS` is `off`, and no function otherwise.")

    _cleaning = Subject("Cleaning, moves and idle times")
    queue_maintain_interval_ms = Setting(2000, unit="ms", minimum=1, help="The pause between two rounds of cleaning, "
        "which all processes and functions share. After a round without work, a process waits five times as long. "
        "Where LISTEN works, the process also waits until a change.")
    queue_move_interval_ms = Setting(1000, unit="ms", minimum=1, help="The pause between two queries for message move "
        "tasks. Where LISTEN works, a process without a task sleeps until a task starts, and begins the task within "
        "this time.")
    queue_idle_check_ms = Setting(30_000, unit="ms", minimum=10, help="The pause between two checks of an idle "
        "process. A check finds whether notifications arrive, which work is due, and which rows have changed. A "
        "process may notice a change through SQL, or a change whose notification was lost, only at the next check.")

    _metrics = Subject("Metrics and history")
    queue_history_days = Setting(30, unit="days", minimum=1, help="How long the service keeps the history of each "
        "message (without its body) for metrics.")
    queue_metrics_days = Setting(30, unit="days", minimum=1, maximum=36_500, help="How long the metrics job keeps "
        "windows of a minute. The job keeps windows of an hour 12 times as long, and windows of a day for ever.")
    queue_metrics_timezone = Setting("UTC", unit="time zone", format=formats.TIME_ZONE, help="The time zone whose "
        "calendar days the daily metrics cover, such as `Europe/Berlin`. After a change, run the metrics job with "
        "`--from` to compute the days again. See [its tables](metrics_tables.md#windows).")
    queue_metrics_token = Setting("", secret=True, format=formats.TOKEN, help="The token that a scrape of `/metrics` "
        "sends as `Authorization: Bearer …`. Without a value, `QUEUE_ACCESS` decides who can read `/metrics`. See "
        "[Prometheus](prometheus.md#who-may-read).")
    queue_metrics_max_queues = Setting(1000, unit="queues", minimum=0, maximum=100_000, help='The maximum number of '
        'queues that `/metrics` names. `/metrics` adds up all other queues as `queue="_other"`. Each named queue adds '
        'up to 70 lines to a scrape.')
    queue_metrics_interval_ms = Setting(10_000, unit="ms", minimum=100, help="The pause between two rounds that "
        "measure all queues for `/metrics`. All processes share the rounds. While the data does not change, no round "
        "runs, and a scrape measures the queues first.")

    _alerts = Subject("Alerts")
    queue_alert_url = Setting("", unit="address", secret=True, format=formats.ALERT_URL, help="The URL to which the "
        "installation sends alerts: an incoming webhook of Slack, a workflow of Microsoft Teams, PagerDuty's Events "
        "API v2, or any server that takes JSON. An account can have another URL. The processes that measure queues "
        "need this variable. Private addresses need `WEBHOOK_ALLOW_CIDRS`. See "
        "[Alerts](../operate/alerts.md).")
    queue_alert_email = Setting("", unit="address", format=formats.MAIL_RECIPIENT, help="The e-mail address to which "
        "the installation sends alerts through `SNS_SMTP_URL`, also in addition to `QUEUE_ALERT_URL`.")
    queue_alert_interval_ms = Setting(10_000, unit="ms", minimum=100, help="The pause between two evaluations of the "
        "installation's problems. All processes share the evaluations. In an installation of functions only, the pause "
        "is at least a minute.")
    queue_alert_evaluations = Setting(2, unit="evaluations", minimum=1, maximum=1000, help="The number of consecutive "
        "evaluations in which a problem must exist before an alert, and must be gone before the alert's end.")
    queue_alert_pause_seconds = Setting(600, unit="seconds", minimum=0, help="How long a problem that ended sends no "
        "new alert if it comes back, and how long a problem that grows sends no further alert.")

    _logs = Subject("Logs and traces")
    log_level = Setting("info", choices=("debug", "info", "warning", "error", "critical"), help="The lowest level of "
        "the log records that the service writes.")
    access_log = Setting("off", choices=("off", "stdout", "stderr"), help="Where the container writes a line of JSON "
        "for each request. With `off`, the container writes no lines. See [Log each "
        "request](../operate/access_log.md).")
    otlp_enabled = Setting(False, help="Records traces in the container and sends them to a collector of "
        "OpenTelemetry. See [Traces](../guides/tracing.md). The container needs the packages of the extra `tracing`.")
    otlp_endpoint = Setting("http://localhost:4317", unit="address", format=formats.COLLECTOR, help="The address of "
        "the collector, which receives OTLP over gRPC. An address with `https://` uses TLS.")
    otlp_service_name = Setting("penstock", help="The `service.name` of the traces.")
    otlp_sample_rate = Setting(0.1, unit="share", minimum=0, maximum=1, help="The share of traces, from 0 to 1, that "
        "the service records if the trace begins in the service. The service follows the caller's sampling "
        "decision if the request has a `traceparent`.")

    _serverless = Subject("Penstock on Lambda")
    queue_lambda_wait_seconds = Setting(2, unit="seconds", minimum=0, maximum=20, help="The maximum wait for messages "
        "in the functions `Gateway` and `Rest`. The function `SqsReceiveMessage` has no such limit. With 0, no request "
        "waits. See [Limits of functions](../operate/lambda_limits.md#long-polls).")
    queue_lambda_concurrency = Setting(0, unit="environments", minimum=0, help="The maximum number of environments "
        "that the function `Gateway` or `Rest` has at once. `template.yaml` sets this variable to the reserved "
        "concurrency. A quarter of the environments, rounded down, can wait for messages. With 0, all environments can "
        "wait.")
    queue_lambda_worker_seconds = Setting(65, unit="seconds", minimum=0, maximum=70, help="How long each minute's "
        "invocation of `Deliver`, `DeliverEvents`, `FireSchedules` and `Move` polls for new work. Above 60, an "
        "invocation polls until the next invocation polls. With 0, an invocation ends when no work is due, so new work "
        "can be a minute late. With 0, `PollMappings` polls for 45 seconds.")
    queue_lambda_mappings = Setting(False, help="Gives the functions of a serverless deployment the API of event "
        "source mappings. Set this variable if the function `PollMappings` polls. The container always has this API.")
    queue_usage_metrics = Setting(False, help="Makes Lambda functions log metrics with the names of SQS's metrics for "
        "each request that sends, receives or deletes messages. See "
        "[Watch Lambda functions](../operate/lambda_watch.md#metrics).")
    queue_tracing = Setting(False, help="Makes Lambda functions write a segment of X-Ray for each invocation. The "
        "functions need a layer with the package aws-xray-sdk.")
    # fmt: on

    def __init__(self, values: Mapping[str, Value]) -> None:
        """`values` maps attributes to values. An attribute without a value has its default."""
        if unknown := values.keys() - {setting.attribute for setting in SETTINGS}:
            raise TypeError(f"no settings: {', '.join(sorted(unknown))}")
        vars(self).update(values)

    @classmethod
    def read(cls, variables: Mapping[str, str], **overrides: Value) -> Settings:
        """Reads settings from environment variables. `overrides`, from the command line and tests, maps attributes to
        values that take precedence.

        An empty variable counts as not set, because containers often pass unset variables as empty. If a secret NAME is
        not set, the service reads the secret from the file in `NAME_FILE` (Penstock's choice). Raises SettingError for
        invalid values, and for the `NAME_FILE` of a setting that is not secret.
        """
        values = {setting.attribute: setting.read(variables) for setting in SETTINGS}
        settings = cls(values | overrides)
        if settings.queue_database_auth == "iam":
            settings = settings.replace(
                database_url=_add_iam_token(settings.database_url),
                database_direct_url=_add_iam_token(settings.database_direct_url),
            )
        _check_combinations(settings)
        return settings

    def replace(self, **values: Value) -> Settings:
        """Returns a copy of the settings in which `values` replaces attributes."""
        return Settings(vars(self) | values)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"settings do not change: {name}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and self._all_values() == other._all_values()

    def __hash__(self) -> int:
        return hash(self._all_values())

    def __repr__(self) -> str:
        shown = (s for s in SETTINGS if not (s.secret or s.hidden))
        return f"Settings({', '.join(f'{s.attribute}={getattr(self, s.attribute)!r}' for s in shown)})"

    def serves(self, region: str) -> bool:
        """Returns whether QUEUE_REGIONS contains the region."""
        return not self.queue_regions or region in formats.split_list(self.queue_regions)

    @property
    def carried_protocols(self) -> tuple[str, ...]:
        """Returns the SNS protocols whose outgoing messages this installation carries."""
        return tuple(protocol for carrier in self.carriers for protocol in PROTOCOLS[carrier])

    @property
    def carriers(self) -> tuple[str, ...]:
        """Returns the carriers of this process (the column `carrier` of queue.outgoing_delivery)."""
        found = {"gateway": self.sns_gateway_url, "lambda": self.queue_lambda_endpoint, "mail": self.sns_smtp_url}
        return ("http", *(name for name, address in found.items() if address))

    @property
    def console(self) -> str:
        """Returns which actions the console at /console allows: `off`, `read` or `full`."""
        if self.queue_access == "presence":  # a browser cannot send credentials
            return "off"
        return self.queue_console or ("full" if self.queue_access == "sigv4" else "off")

    @property
    def direct_url(self) -> str:
        """Returns the address for LISTEN, migrations and pipeline connections, or an empty string if no database is
        set."""
        return self.database_direct_url or self.database_url

    @property
    def call_seconds(self) -> float:
        """Returns the deadline of a database call."""
        return self.queue_database_call_timeout_ms / 1000

    @property
    def host_and_port(self) -> tuple[str, int]:
        """Returns the two parts of QUEUE_ADDRESS. `[::1]:9324` gives `::1`."""
        return formats.split_address(self.queue_address)

    @property
    def local_authority(self) -> str:
        """Returns the host and port at which this machine reaches QUEUE_ADDRESS."""
        host, port = self.host_and_port
        if host in EVERYWHERE:
            host = "localhost"
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def _all_values(self) -> tuple[Value, ...]:
        return tuple(getattr(self, setting.attribute) for setting in SETTINGS)


def _check_combinations(settings: Settings) -> None:
    """Raises SettingError for values that contradict each other."""
    if settings.sns_smtp_url and not settings.sns_mail_from:
        raise SettingError("SNS_SMTP_URL needs SNS_MAIL_FROM", "SNS_SMTP_URL")
    if settings.queue_alert_email and not settings.sns_smtp_url:
        raise SettingError("QUEUE_ALERT_EMAIL needs SNS_SMTP_URL", "QUEUE_ALERT_EMAIL")
    if not settings.serves(settings.queue_region):
        raise SettingError(
            f"QUEUE_REGIONS must have QUEUE_REGION, which is {settings.queue_region!r}, not {settings.queue_regions!r}",
            "QUEUE_REGIONS",
        )


def _add_iam_token(address: str) -> str:
    """Returns the address with IAM_TOKEN as its last password. In both forms of addresses, the last password takes
    precedence."""
    if not address or IAM_TOKEN in address:
        return address
    if address.startswith(("postgresql://", "postgres://")):
        return f"{address}{'&' if '?' in address else '?'}password={IAM_TOKEN}"
    return f"{address} password={IAM_TOKEN}"


_Groups = dict[str, tuple[Setting[Any], ...]]


def _group_settings() -> _Groups:
    groups: _Groups = {}
    title = ""
    for member in vars(Settings).values():
        if isinstance(member, Subject):
            title = member.title
            groups[title] = ()
        elif isinstance(member, Setting):
            groups[title] += (member,)
    return groups


SUBJECTS: Final = _group_settings()
"""Maps each subject to its settings, in the order of the class."""

SETTINGS: Final = tuple(setting for settings in SUBJECTS.values() for setting in settings)
"""The settings, in the order of the class."""

ADDRESSES: Final = (Settings.database_url.name, Settings.database_direct_url.name)
"""The settings that are addresses of the database."""
