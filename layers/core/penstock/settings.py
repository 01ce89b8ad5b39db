"""Every setting of Penstock, in one tuple; docs/settings.md is written from it and a test keeps the two equal.

    from penstock.settings import Settings
    settings = Settings.read(os.environ)          # once per process, in an entry point
    settings.queue_max_connections                # 10

Nothing here reads the environment by itself. Names and defaults are those of the specification; names carry
their unit, except where the specification's do not. A bad value raises SettingError, which names the setting.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from penstock.setting_forms import entries, find_problem, split_address, unknown_names

DRIVERS: Final = ("psycopg", "pg8000")

IAM_TOKEN: Final = "in-place-of-a-token-of-iam"  # noqa: S105 - nobody's password
"""The password that an address has where QUEUE_DATABASE_AUTH is `iam`: each new connection replaces it by a token."""

MOST: Final = 2_147_483_647
"""The most that a whole number may be where no setting says otherwise: PostgreSQL's `integer`."""

EVERYWHERE: Final = ("0.0.0.0", "::")  # noqa: S104 - compared, not bound

Value = str | int | float | bool


class SettingError(ValueError):
    """A setting has a value that cannot be used; the text names the setting and says what is allowed."""


class Setting(NamedTuple):
    """One setting: its environment variable, default (whose type is the setting's type), unit and meaning."""

    name: str
    default: Value
    unit: str
    help: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    secret: bool = False  # never shown, may come from a file
    is_shown: bool = True  # an address that may have a token in it is not


ADDRESSES: Final = ("DATABASE_URL", "DATABASE_DIRECT_URL")
"""Settings that have a password."""

SETTINGS: Final = (
    Setting("DATABASE_URL", "", "address", "PostgreSQL 15 or newer, directly or through PgBouncer. Empty: "
            "`penstock up` starts its own PostgreSQL; everything else needs it."),
    Setting("DATABASE_DIRECT_URL", "", "address", "The same database without a pooler in between: for LISTEN "
            "(a pooler accepts it and delivers nothing), migrations, and the few connections of the service that are "
            "always busy. Empty: as `DATABASE_URL`."),
    Setting("QUEUE_SECRET", "", "name or ARN", "For functions: a secret of AWS Secrets Manager, a JSON object whose "
            "members are settings that are not set otherwise, such as `DATABASE_URL` and `QUEUE_ENCRYPTION_KEY`. Read "
            "at the start, and again when no connection can be made. Not read where `DATABASE_URL` is set."),
    Setting("QUEUE_ADDRESS", "0.0.0.0:9324", "host:port", "Where the service listens. `penstock up` itself "
            "listens on 127.0.0.1 unless this variable or `--host` says otherwise."),
    Setting("QUEUE_BASE_URL", "", "address", "Start of the queue URLs given to clients: "
            "`{QUEUE_BASE_URL}/{account}/{queue}`, with the region before the account if it is not `QUEUE_REGION`, "
            "and of links in SNS messages. Empty: the address that the client itself used, for links only as far as "
            "[access.md](access.md#links) says."),
    Setting("QUEUE_ALLOWED_HOSTS", "", "hosts", "Names under which clients reach the service, separated by commas: "
            "`queues.example.com`, `*.example.com` for all below it, `*` for any. IP addresses, names without a dot or "
            "below `localhost`, `internal` and `svc`, and the host of `QUEUE_BASE_URL` need no entry. See "
            "[access.md](access.md)."),
    Setting("QUEUE_TRUST_FORWARDED", False, "", "Take the scheme of queue URLs from `X-Forwarded-Proto`, and their "
            "host from `X-Forwarded-Host` if it would be allowed as `Host`, see `QUEUE_ALLOWED_HOSTS`. Only behind a "
            "proxy that sets them."),
    Setting("QUEUE_ACCOUNT_ID", "000000000000", "12 digits", "Account of callers whose access key id is not "
            "itself a 12-digit account id."),
    Setting("QUEUE_REGION", "us-east-1", "", "Region of callers whose request names none."),
    Setting("QUEUE_REGIONS", "", "regions", "The regions that this installation serves, separated by commas, "
            "`QUEUE_REGION` among them; requests that are signed for another are refused, and so are schedules whose "
            "target is in another, see [scaling.md](scaling.md). Empty: any region."),
    Setting("QUEUE_ACCESS", "off", "", "Which clients may call. `off`: all, with any credentials. `presence`: those "
            "that send credentials, whatever they are. `sigv4`: those that sign with a key of `penstock keys`, see "
            "[access.md](access.md).", choices=("off", "presence", "sigv4")),
    Setting("QUEUE_ENCRYPTION_KEY", "", "32 bytes, base64", "Encrypts the secrets of access keys in the database. "
            "Needed by `QUEUE_ACCESS=sigv4` and `penstock keys create`.", secret=True),
    Setting("QUEUE_ACCESS_CACHE_SECONDS", 30, "seconds", "How long a process caches an access key: a "
            "revocation takes effect after this time. 0: every request looks the key up.", 0),
    Setting("QUEUE_REFUSE_KMS", False, "", "Refuse queues, topics and schedules with a KMS key, with which nothing is "
            "encrypted here, see [security.md](security.md)."),
    Setting("QUEUE_CONSOLE", "", "", "The console at `/console`, see [console.md](console.md). `off`: none. `read`: it "
            "shows, and changes nothing. `full`: it does what its user may do. Empty: `full` for `penstock up` on an "
            "address of this machine alone, and with `QUEUE_ACCESS=sigv4`; else `off`. There is none with "
            "`QUEUE_ACCESS=presence`.",
            choices=("off", "read", "full")),
    Setting("QUEUE_MCP", False, "", "Serve the Model Context Protocol at `/mcp`, for programs that assist an operator: "
            "it reads, see [mcp.md](mcp.md). It needs `pip install 'penstock[mcp]'`."),
    Setting("QUEUE_PEEK_ENDPOINT", False, "", "Serve `GET /_aws/sqs/messages`, where test suites look at messages "
            "without receiving them, as LocalStack has it."),
    Setting("QUEUE_LOCALSTACK_HEALTH", False, "", "Serve `GET /_localstack/health` for scripts that wait for it. It "
            "needs no credentials."),
    Setting("SNS_CERT_HOST", "", "host", "Host of `SigningCertURL` in SNS messages, for validators that accept AWS's "
            "names only: `sns.<region>.amazonaws.com`, which your DNS then leads here. Empty: that of the "
            "message's other links."),
    Setting("SNS_TOPIC_FILTER_POLICIES", 200, "subscriptions", "How many subscriptions of a topic may have a filter "
            "policy, as on AWS; then `FilterPolicyLimitExceeded`. 0: any number.", 0, 2_147_483_647),
    Setting("SNS_ACCOUNT_FILTER_POLICIES", 10_000, "subscriptions", "How many subscriptions of an account, in a "
            "region, may have a filter policy, as on AWS. 0: any number.", 0, 2_147_483_647),
    Setting("SNS_GATEWAY_URL", "", "address", "Carries text messages and mobile push: each is POSTed there, signed "
            "with `WEBHOOK_SIGNING_SECRET`, see [topics.md](topics.md#gateway). It may be in a private network. The "
            "workers `deliver` and `maintain` need it. Empty: they are kept.",
            is_shown=False),
    Setting("SNS_SMTP_URL", "", "address", "The mail server that takes e-mail for subscriptions: "
            "`smtp[s]://[user:password@]host[:port]`, see [topics.md](topics.md#e-mail). `smtps`: TLS from the "
            "start, port 465; `smtp`: STARTTLS, without which no password is sent, port 587. The workers "
            "`deliver` and `maintain` need it. Empty: mails are kept.",
            secret=True),
    Setting("SNS_MAIL_FROM", "", "address", "Sender of e-mail: `Notifications <no-reply@example.com>`. Needed with "
            "`SNS_SMTP_URL`."),
    Setting("QUOTA_CONFIRMATION_MAILS", 10, "mails", "How many mails an hour ask addresses to confirm subscriptions "
            "of an account; others wait. An address is asked once an hour. 0: any number.", 0, 2_147_483_647),
    Setting("SNS_OUTBOX_DAYS", 7, "days", "How long outgoing messages are kept that nothing carries, see "
            "[topics.md](topics.md#outbox).", 1, 3_650),
    Setting("QUOTA_OUTBOX", 100_000, "messages", "About how many outgoing messages of an account are kept: the newest, "
            "besides those that a gateway has yet to get. "
            "0: any number.", 0, 2_147_483_647),
    Setting("QUOTA_PLATFORM_APPLICATIONS", 10_000, "applications", "How many platform applications an account may "
            "have; then `InvalidParameter`. AWS names no such quota. 0: any number.", 0, 2_147_483_647),
    Setting("QUOTA_PLATFORM_ENDPOINTS", 10_000_000, "endpoints", "How many endpoints of platform applications an "
            "account may have; then `InvalidParameter`. AWS names no such quota. 0: any number.", 0, 2_147_483_647),
    Setting("QUOTA_OPTED_OUT_NUMBERS", 1_000_000, "phone numbers", "How many phone numbers an account may note as "
            "opted out, those that it has opted in again included; then the REST API answers 429. AWS names no such "
            "quota. 0: any number.", 0, 2_147_483_647),
    Setting("QUOTA_QUEUES", 100_000, "queues", "How many queues an account may have; then `OverLimit`. AWS has no such "
            "quota. 0: any number.", 0, 2_147_483_647),
    Setting("QUOTA_TOPICS", 100_000, "topics", "How many topics an account may have, as on AWS; then "
            "`TopicLimitExceeded`. 0: any number.", 0, 2_147_483_647),
    Setting("QUOTA_SUBSCRIPTIONS", 12_500_000, "subscriptions", "How many subscriptions an account may have (on AWS: a "
            "topic); then `SubscriptionLimitExceeded`. 0: any number.", 0, 2_147_483_647),
    Setting("QUOTA_SCHEDULES", 10_000_000, "schedules", "How many schedules an account may have (on AWS: in a "
            "region); then `ServiceQuotaExceededException`. 0: any number.", 0, 2_147_483_647),
    Setting("QUOTA_MAPPINGS", 10_000, "mappings", "How many event source mappings an account may have; then "
            "`InvalidParameterValueException`. AWS names no such quota. 0: any number.", 0, 2_147_483_647),
    Setting("QUOTA_FIRINGS_PER_SECOND", 1_000, "firings", "About how many times a second the schedules of an account "
            "fire, retries included, as on AWS; what is beyond that fires later. 0: any number.", 0, 2_147_483_647),
    Setting("QUOTA_WEBHOOKS", 1_000_000, "webhooks", "About how many webhooks of an account may wait for delivery, "
            "and as many messages of a protocol for the gateway or the mail server; then a publish that adds one is "
            "refused: `Throttled`. AWS has no such quota. 0: any number.", 0, 2_147_483_647),
    Setting("QUOTA_REQUESTS_PER_SECOND", 0, "requests", "How many requests a second, each 64 KiB one, a process takes "
            "of an account or, unless `QUEUE_ACCESS` is `sigv4`, of an address; then `RequestThrottled`, see "
            "[security.md](security.md#quotas). 0: any number.", 0, 2_147_483_647),
    Setting("QUEUE_DEFAULT_VISIBILITY_TIMEOUT", 30, "seconds", "VisibilityTimeout of a queue created without "
            "one.", 0, 43200),
    Setting("QUEUE_MAX_CONNECTIONS", 10, "connections", "Most database connections of one process, the one "
            "that listens not counted. Half of them, up to four, go to `DATABASE_DIRECT_URL`, the others to "
            "`DATABASE_URL`.", 1),
    Setting("QUEUE_DATABASE_DRIVER", "psycopg", "", "The PostgreSQL driver of functions of Lambda. `pg8000` "
            "is imported in less time, but takes longer for a call.", choices=DRIVERS),
    Setting("QUEUE_DATABASE_AUTH", "password", "", "How connections to RDS log in. `password`: with that of the "
            "address. `iam`: with a token that each new connection makes from the process's credentials of AWS; the "
            "addresses then need `sslmode=verify-full`. See "
            "[deployment.md](deployment.md#iam-database-authentication).",
            choices=("password", "iam")),
    Setting("QUEUE_POOL_TIMEOUT_MS", 2000, "ms", "Longest wait for a free database connection; then 503.", 1),
    Setting("QUEUE_DATABASE_CALL_TIMEOUT_MS", 8000, "ms", "Longest time for a call of the database; three times as "
            "long for one that cleans, measures or moves. Then its connection is closed, and the client gets 503: it "
            "is unknown whether the call took effect.", 100),
    Setting("QUEUE_REQUEST_TIMEOUT_SECONDS", 30, "seconds", "Longest time for a request, the wait of a long "
            "poll not counted; then 408.", 1),
    Setting("QUEUE_LINGER_MS", 0, "ms", "How long a send waits for others to share its database call. 0: not "
            "at all; concurrent sends are still put together while an earlier call is under way.", 0),
    Setting("QUEUE_BATCH_LIMIT", 16384, "entries", "Most entries that wait for a shared database call; beyond "
            "that 503.", 1),
    Setting("QUEUE_SHARDS", 4, "writers", "How many transactions can write to one new queue side by side. "
            "More cost empty receives a little.", 1, 64),
    Setting("QUEUE_PURGE_INTERVAL_SECONDS", 60, "seconds", "Least time between two PurgeQueue of a queue, as on "
            "AWS. 0: no limit.", 0),
    Setting("QUEUE_RECREATE_INTERVAL_SECONDS", 60, "seconds", "Least time between DeleteQueue and CreateQueue of "
            "one name, as on AWS. 0: no limit.", 0),
    Setting("QUEUE_IN_FLIGHT_LIMIT", 120_000, "messages", "About how many messages of a queue may be in flight, as on "
            "AWS. Beyond it a standard queue answers `OverLimit` to short polls, a FIFO queue hands out nothing. 0: no "
            "limit. Below 100,000 they are counted in every receive.", 0, 2_147_483_647),
    Setting("QUEUE_MAINTAIN_INTERVAL_MS", 2000, "ms", "Pause between two rounds of cleaning, which all "
            "processes and functions share. A process that found nothing to clean looks again after five times as "
            "long and, where LISTEN works, cleans no more until something changes.", 1),
    Setting("QUEUE_MOVE_INTERVAL_MS", 1000, "ms", "Pause between two queries of a process for message move tasks "
            "to work on. While there is none and LISTEN works, the start of one ends the pause; work on it begins "
            "within this time.", 1),
    Setting("QUEUE_IDLE_CHECK_MS", 30_000, "ms", "Pause between two checks of a process, in which it asks the database "
            "whether notifications arrive, what is due and whether something has changed: for so long a lost "
            "notification, or a change through SQL, may stay unnoticed.", 10),
    Setting("QUEUE_HTTP_DELIVERY_ENABLED", True, "", "Deliver webhooks: POST messages to subscribed HTTP(S) "
            "endpoints, see [webhooks.md](webhooks.md)."),
    Setting("QUEUE_HTTP_DELIVERY_POLL_MS", 1000, "ms", "Longest pause between two queries of a process for webhooks "
            "that are due. Where LISTEN works, a publish ends the pause, or the time of the next retry.", 10),
    Setting("QUEUE_HTTP_DELIVERY_TIMEOUT_SECS", 5, "seconds", "How long the endpoint of an event may take to answer, "
            "connecting included. For subscriptions of SNS topics it is 15, as on AWS.", 1, 15),
    Setting("QUEUE_HTTP_DELIVERY_BATCH_SIZE", 50, "webhooks", "Most webhooks that a process claims at once, and so "
            "most requests that it has under way.", 1, 1000),
    Setting("QUEUE_SCHEDULE_ENABLED", True, "", "Fire schedules. A process without it stores them, and processes and "
            "functions that have it fire them."),
    Setting("QUEUE_SCHEDULE_POLL_MS", 1000, "ms", "Longest pause between two queries of a process for schedules to "
            "fire. It sleeps until the next one is due, and is woken when a nearer one is written; where LISTEN works "
            "only that ends the pause.", 1),
    Setting("QUEUE_SCHEDULE_BATCH_SIZE", 32, "schedules", "Most schedules that a process fires in one transaction.",
            1, 1000),
    Setting("QUEUE_SCHEDULE_PREVIEW_COUNT", 5, "times", "How many coming times the answers of `/v1/schedules` and "
            "`/v1/previews` show.", 1, 100),
    Setting("QUEUE_SCHEDULE_LIST_MAX", 1000, "schedules", "Most schedules in an answer of `GET /v1/schedules`.", 1),
    Setting("QUEUE_SCHEDULE_MISFIRE_GRACE_SECONDS", 60, "seconds", "How late a schedule without catch-up may fire; "
            "times missed by more are skipped.", 0),
    Setting("QUEUE_SCHEDULE_HISTORY_SECONDS", 604_800, "seconds", "How long the runs of schedules are listed.", 60,
            2_147_483_647),
    Setting("WEBHOOK_ALLOW_CIDRS", "", "networks", "Networks that webhooks may reach although they are not public, "
            "separated by commas: `10.0.0.0/8,fd00::/8`. Empty: public addresses only."),
    Setting("WEBHOOK_SIGNING_SECRET", "", "whsec_…", "Signs webhooks of events as Standard Webhooks do: `whsec_` and "
            "the base64 text of 24 to 64 bytes. To change it, give the new one and the old one, "
            "separated by a blank: both sign.", secret=True),
    Setting("WEBHOOK_LOG_ANSWERS", False, "", "Keep the first 256 bytes of each answer of an endpoint in the log of "
            "attempts, for administrators. Answers from networks of `WEBHOOK_ALLOW_CIDRS` are never kept."),
    Setting("QUEUE_LAMBDA_ENDPOINT", "", "address", "Where event source mappings, subscriptions of functions and "
            "schedules invoke functions: `https://lambda.eu-central-1.amazonaws.com`, or an emulator such as `sam "
            "local start-lambda`. Empty: a mapping can only have a URL, and messages for functions are kept in the "
            "outbox."),
    Setting("QUEUE_LAMBDA_FUNCTIONS", "", "names or ARNs", "The functions that this installation may invoke, separated "
            "by commas: names or ARNs, with `*` for any characters. Empty: any if `QUEUE_ACCESS` is `off`, else none."),
    Setting("QUEUE_HISTORY_DAYS", 30, "days", "How long the history of each message (without its body) is kept, for "
            "metrics.", 1),
    Setting("QUEUE_METRICS_DAYS", 30, "days", "How long the metrics job's windows of a minute are kept; those of an "
            "hour 12 times as long, those of a day for ever.", 1, 36_500),
    Setting("QUEUE_METRICS_TIMEZONE", "UTC", "time zone", "The time zone whose calendar days the daily metrics cover, "
            "such as `Europe/Berlin`. After a change, days are computed anew with `--from`, see "
            "[metrics.md](metrics.md)."),
    Setting("QUEUE_METRICS_TOKEN", "", "", "Who scrapes `/metrics` sends it as `Authorization: Bearer …`. Empty: "
            "`/metrics` is as open as `QUEUE_ACCESS` says, see [metrics.md](metrics.md#metrics).", secret=True),
    Setting("QUEUE_METRICS_MAX_QUEUES", 1000, "queues", "How many queues `/metrics` names; the others are "
            'added up as `queue="_other"`. Each costs up to 70 lines a scrape.', minimum=0, maximum=100_000),
    Setting("QUEUE_METRICS_OLD_NAMES", True, "", "Whether `/metrics` has each series a second time, by the name that "
            "it had before release 0.1.0: `queue_depth` for `penstock_queue_depth`. Release 0.2.0 drops these."),
    Setting("QUEUE_METRICS_INTERVAL_MS", 10_000, "ms", "Pause between two rounds of measuring all queues for "
            "`/metrics`, which all processes share. There is none while nothing changes; `/metrics` then measures "
            "first.", minimum=100),
    Setting("QUEUE_LAMBDA_WAIT_SECONDS", 2, "seconds", "Longest wait for messages in the functions `Gateway` and "
            "`Rest`, see [deployment.md](deployment.md#long-polls); that of ReceiveMessage has no limit of its own. "
            "0: none waits.", 0, 20),
    Setting("QUEUE_LAMBDA_CONCURRENCY", 0, "environments", "How many environments the function, `Gateway` or `Rest`, "
            "may have at once, which `template.yaml` sets to what it reserves: a quarter of them, rounded down, may "
            "wait for messages. 0: all of them.", 0, 2_147_483_647),
    Setting("QUEUE_LAMBDA_WORKER_SECONDS", 65, "seconds", "How long an invocation of the functions "
            "`DeliverWebhooks`, `FireSchedules` and `Move`, once a minute, polls for new work. Over 60: until the next "
            "one does. 0: it ends when nothing is due, and what is new may be a minute late; `PollMappings` polls for "
            "45 seconds then.", 0, 70),
    Setting("QUEUE_LAMBDA_MAPPINGS", False, "", "Functions of a serverless deployment have the API of event source "
            "mappings, since the function `PollMappings` polls for them. The container always does."),
    Setting("QUEUE_USAGE_METRICS", False, "", "Functions of Lambda write a line of metrics for each request that "
            "sends, receives or deletes messages: SQS's own names, see [metrics.md](metrics.md)."),
    Setting("QUEUE_DRAIN_SECONDS", 4, "seconds", "After SIGTERM or Ctrl-C: longest wait for requests under "
            "way.", 0),
    Setting("QUEUE_TRACING", False, "", "Functions of Lambda write a segment of X-Ray for each invocation. It needs a "
            "layer with the package aws-xray-sdk."),
    Setting("OTLP_ENABLED", False, "", "Record traces in the container and send them to a collector of OpenTelemetry, "
            "see [tracing.md](tracing.md). It needs the packages of the extra `tracing`."),
    Setting("OTLP_ENDPOINT", "http://localhost:4317", "address", "The collector, by OTLP over gRPC. `https://`: with "
            "TLS."),
    Setting("OTLP_SERVICE_NAME", "penstock", "", "`service.name` of the traces."),
    Setting("OTLP_SAMPLE_RATE", 0.1, "share", "How many of the traces that begin here are recorded: 0 none, 1 all. A "
            "caller's own decision, in its `traceparent`, counts for its requests.", 0, 1),
    Setting("LOG_LEVEL", "info", "", "Least severe log record to write.",
            choices=("debug", "info", "warning", "error", "critical")),
    Setting("ACCESS_LOG", "off", "", "Whether the container writes a line of JSON for each request, and where, see "
            "[operations.md](operations.md#access-log).", choices=("off", "stdout", "stderr")),
)  # fmt: skip


WITH_FILE: Final = (*ADDRESSES, *(setting.name for setting in SETTINGS if setting.secret))
"""Settings that may be read from a file."""


def unknown_variables(variables: Iterable[str]) -> tuple[str, ...]:
    """A sentence for each variable that looks like a setting and is none, such as QUEUE_MAX_CONECTIONS."""
    return tuple(unknown_names(variables, (setting.name for setting in SETTINGS), WITH_FILE))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The values, typed. Field names are the variables' in lower case; defaults are those of SETTINGS."""

    database_url: str = field(repr=False)  # it has a password
    database_direct_url: str = field(repr=False)
    queue_secret: str
    queue_address: str
    queue_base_url: str
    queue_allowed_hosts: str
    queue_trust_forwarded: bool
    queue_account_id: str
    queue_region: str
    queue_regions: str
    queue_access: str
    queue_encryption_key: str = field(repr=False)
    queue_access_cache_seconds: int
    queue_refuse_kms: bool
    queue_console: str
    queue_mcp: bool
    queue_peek_endpoint: bool
    queue_localstack_health: bool
    sns_cert_host: str
    sns_topic_filter_policies: int
    sns_account_filter_policies: int
    sns_gateway_url: str
    sns_smtp_url: str = field(repr=False)  # it has a password
    sns_mail_from: str
    quota_confirmation_mails: int
    sns_outbox_days: int
    quota_outbox: int
    quota_platform_applications: int
    quota_platform_endpoints: int
    quota_opted_out_numbers: int
    quota_queues: int
    quota_topics: int
    quota_subscriptions: int
    quota_schedules: int
    quota_mappings: int
    quota_firings_per_second: int
    quota_webhooks: int
    quota_requests_per_second: int
    queue_default_visibility_timeout: int
    queue_max_connections: int
    queue_database_driver: str
    queue_database_auth: str
    queue_pool_timeout_ms: int
    queue_database_call_timeout_ms: int
    queue_request_timeout_seconds: int
    queue_linger_ms: int
    queue_batch_limit: int
    queue_shards: int
    queue_purge_interval_seconds: int
    queue_recreate_interval_seconds: int
    queue_in_flight_limit: int
    queue_maintain_interval_ms: int
    queue_move_interval_ms: int
    queue_idle_check_ms: int
    queue_http_delivery_enabled: bool
    queue_http_delivery_poll_ms: int
    queue_http_delivery_timeout_secs: int
    queue_http_delivery_batch_size: int
    queue_schedule_enabled: bool
    queue_schedule_poll_ms: int
    queue_schedule_batch_size: int
    queue_schedule_preview_count: int
    queue_schedule_list_max: int
    queue_schedule_misfire_grace_seconds: int
    queue_schedule_history_seconds: int
    webhook_allow_cidrs: str
    webhook_signing_secret: str = field(repr=False)
    webhook_log_answers: bool
    queue_lambda_endpoint: str
    queue_lambda_functions: str
    queue_history_days: int
    queue_metrics_days: int
    queue_metrics_timezone: str
    queue_metrics_token: str = field(repr=False)
    queue_metrics_max_queues: int
    queue_metrics_old_names: bool
    queue_metrics_interval_ms: int
    queue_lambda_wait_seconds: int
    queue_lambda_concurrency: int
    queue_lambda_worker_seconds: int
    queue_lambda_mappings: bool
    queue_usage_metrics: bool
    queue_drain_seconds: int
    queue_tracing: bool
    otlp_enabled: bool
    otlp_endpoint: str
    otlp_service_name: str
    otlp_sample_rate: float
    log_level: str
    access_log: str

    @classmethod
    def read(cls, variables: Mapping[str, str], **overrides: Value) -> Settings:
        """Settings from environment variables; `overrides`, by field name, win (command line, tests).

        An empty variable counts as not set, as containers often pass it so. A secret, or an address of the database,
        that is not set is read from the file that its name with `_FILE` names (our choice). Raises SettingError.
        """
        values: dict[str, Any] = {s.name.lower(): _value(s, _text(s, variables)) for s in SETTINGS}
        settings = cls(**{**values, **overrides})
        if settings.queue_database_auth == "iam":
            settings = replace(
                settings,
                database_url=_with_iam_token(settings.database_url),
                database_direct_url=_with_iam_token(settings.database_direct_url),
            )
        if settings.sns_smtp_url and not settings.sns_mail_from:
            raise SettingError("SNS_SMTP_URL needs SNS_MAIL_FROM")
        if not settings.serves(settings.queue_region):
            raise SettingError(
                f"QUEUE_REGIONS must have QUEUE_REGION, which is {settings.queue_region!r}, "
                f"not {settings.queue_regions!r}"
            )
        return settings

    def serves(self, region: str) -> bool:
        """Whether QUEUE_REGIONS has the region."""
        return not self.queue_regions or region in entries(self.queue_regions)

    @property
    def carried_protocols(self) -> tuple[str, ...]:
        """The protocols of SNS whose outgoing messages this installation carries."""
        by_gateway = ("sms", "application") if self.sns_gateway_url else ()
        by_mail = ("email", "email-json") if self.sns_smtp_url else ()
        return by_gateway + by_mail + (("lambda",) if self.queue_lambda_endpoint else ())

    @property
    def console(self) -> str:
        """What the console at /console lets people do: `off`, `read` or `full`."""
        if self.queue_access == "presence":  # a browser has no credentials to send
            return "off"
        return self.queue_console or ("full" if self.queue_access == "sigv4" else "off")

    @property
    def direct_url(self) -> str:
        """Address for LISTEN, migrations and pipeline connections; empty when there is no database address at all."""
        return self.database_direct_url or self.database_url

    @property
    def call_seconds(self) -> float:
        """The deadline of a call of the database."""
        return self.queue_database_call_timeout_ms / 1000

    @property
    def host_and_port(self) -> tuple[str, int]:
        """QUEUE_ADDRESS in two parts. `[::1]:9324` gives `::1`."""
        return split_address(self.queue_address)

    @property
    def local_authority(self) -> str:
        """Host and port under which this machine reaches QUEUE_ADDRESS."""
        host, port = self.host_and_port
        if host in EVERYWHERE:
            host = "localhost"
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _value(setting: Setting, text: str) -> Value:
    text = text.strip()
    if text == "":
        return setting.default
    value = _convert(setting, text)
    if setting.minimum is not None and not float(value) >= setting.minimum:  # nan is no number to compare
        raise SettingError(f"{setting.name} must be at least {setting.minimum}, not {text}")
    maximum = MOST if setting.maximum is None and type(value) is int else setting.maximum
    if maximum is not None and float(value) > maximum:
        raise SettingError(f"{setting.name} must be at most {maximum}, not {text}")
    if setting.choices and value not in setting.choices:
        raise SettingError(f"{setting.name} must be one of {', '.join(setting.choices)}, not {text!r}")
    if problem := find_problem(setting.name, text):
        raise SettingError(problem)
    return value


def _text(setting: Setting, variables: Mapping[str, str]) -> str:
    text = variables.get(setting.name, "")
    file = variables.get(f"{setting.name}_FILE", "")
    if text or not file or setting.name not in WITH_FILE:
        return text
    try:
        return Path(file).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f"{setting.name}_FILE: {file} cannot be read: {error}") from None


def _with_iam_token(address: str) -> str:
    """The address with IAM_TOKEN as its password, in place of any other: in both forms the last one counts."""
    if not address or IAM_TOKEN in address:
        return address
    if address.startswith(("postgresql://", "postgres://")):
        return f"{address}{'&' if '?' in address else '?'}password={IAM_TOKEN}"
    return f"{address} password={IAM_TOKEN}"


_BOOLEANS: Final = {
    "true": True,
    "1": True,
    "yes": True,
    "on": True,
    "false": False,
    "0": False,
    "no": False,
    "off": False,
}
_KINDS: Final = {bool: "true or false", int: "a whole number", float: "a number"}


def _convert(setting: Setting, text: str) -> Value:
    kind = type(setting.default)
    try:
        if kind is bool:
            return _BOOLEANS[text.lower()]
        if kind is str:
            return text.lower() if setting.choices else text
        return kind(text)
    except (KeyError, ValueError):
        raise SettingError(f"{setting.name} must be {_KINDS[kind]}, not {text!r}") from None


def as_markdown(settings: Iterable[Setting] = SETTINGS) -> str:
    """docs/settings.md: one row per setting, in the order of the tuple."""
    rows = [f"| `{s.name}` | {_shown_default(s)} | {s.unit} | {_shown_help(s)} |" for s in settings]
    return "\n".join((*_MARKDOWN_HEAD, *rows, ""))


def _shown_default(setting: Setting) -> str:
    if isinstance(setting.default, bool):
        return f"`{str(setting.default).lower()}`"
    return f"`{setting.default}`" if setting.default != "" else "(empty)"


def _shown_help(setting: Setting) -> str:
    if setting.choices:
        return f"{setting.help} One of {', '.join(f'`{c}`' for c in setting.choices)}."
    if setting.maximum is None or setting.maximum == MOST:
        return setting.help
    return f"{setting.help} At most {setting.maximum:,}."


_MARKDOWN_HEAD: Final = (
    "# Settings",
    "",
    "Environment variables, read once when a process starts. An empty variable counts as not set.",
    "A value that cannot be used stops the start with an error that names the variable. A variable that begins like a",
    "setting and is none (`QUEUE_MAX_CONECTIONS`) is named at the start and by `penstock doctor`.",
    "Whole numbers are at most 2,147,483,647 where no other limit is named.",
    "A secret, or an address of the database, that is not set is read from the file that its name with `_FILE` names.",
    "This page is written by `penstock settings --markdown`.",
    "",
    "| Variable | Default | Unit | What it controls |",
    "| --- | --- | --- | --- |",
)

# The dataclass and the tuple say the same; this fails at import, in the first test, when they do not.
if [f.name for f in fields(Settings)] != [s.name.lower() for s in SETTINGS]:
    raise AssertionError("Settings and SETTINGS differ")
