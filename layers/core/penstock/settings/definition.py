"""Every setting of Penstock, once: its name, default (and so its type), bounds, unit, text, and whether it is a secret.

`make generate` writes from it docs/settings.md, the schema of the Helm chart, Terraform's `settings` and the variables
of compose.yaml. Names and defaults are those of the specification; names carry their unit, except where the
specification's do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn

from . import formats
from .setting import Setting, SettingError, Value

DRIVERS: Final = ("psycopg", "pg8000")

IAM_TOKEN: Final = "in-place-of-a-token-of-iam"  # noqa: S105 - no real password
"""The password of an address where QUEUE_DATABASE_AUTH is `iam`: each new connection replaces it by a token."""

EVERYWHERE: Final = ("0.0.0.0", "::")  # noqa: S104 - compared, not bound


class Settings:
    """The values of all settings. They do not change; `replace` returns others."""

    # fmt: off
    database_url = Setting("", unit="address", secret=True, help="PostgreSQL 15 or newer, directly or through "
        "PgBouncer. Empty: `penstock up` starts its own PostgreSQL; everything else needs it.")
    database_direct_url = Setting("", unit="address", secret=True, help="The same database without a pooler in "
        "between: for LISTEN (a pooler accepts it and delivers nothing), migrations, and the few connections of the "
        "service that are always busy. Empty: as `DATABASE_URL`.")
    queue_secret = Setting("", unit="name or ARN", help="For functions: a secret of AWS Secrets Manager, a JSON "
        "object that may have every setting, such as `DATABASE_URL` and `QUEUE_ENCRYPTION_KEY`, and wins over the "
        "variables of the function. Read at the start, and again when no connection can be made. Not read where the "
        "variable `DATABASE_URL` is set.")
    queue_address = Setting("0.0.0.0:9324", unit="host:port", format=formats.ADDRESS, help="Where the service "
        "listens. `penstock up` itself listens on 127.0.0.1 unless this variable or `--host` says otherwise.")
    queue_base_url = Setting("", unit="address", format=formats.BASE_URL, help="Start of the queue URLs "
        "given to clients: `{QUEUE_BASE_URL}/{account}/{queue}`, with the region before the account if it is not "
        "`QUEUE_REGION`, and of links in SNS messages. Empty: the address that the client itself used, for links only "
        "as far as [access.md](access.md#links) says.")
    queue_allowed_hosts = Setting("", unit="hosts", format=formats.HOSTS, help="Names under which clients reach the "
        "service, separated by commas: `queues.example.com`, `*.example.com` for all below it, `*` for any. IP "
        "addresses, names without a dot or below `localhost`, `internal` and `svc`, and the host of `QUEUE_BASE_URL` "
        "need no entry. See [access.md](access.md).")
    queue_trust_forwarded = Setting(False, help="Take the scheme of queue URLs from `X-Forwarded-Proto`, and their "
        "host from `X-Forwarded-Host` if it would be allowed as `Host`, see `QUEUE_ALLOWED_HOSTS`. Only behind a "
        "proxy that sets them.")
    queue_account_id = Setting("000000000000", unit="12 digits", format=formats.ACCOUNT, help="Account of callers "
        "whose access key id is not itself a 12-digit account id.")
    queue_region = Setting("us-east-1", format=formats.REGION, help="Region of callers whose request names none.")
    queue_regions = Setting("", unit="regions", format=formats.REGIONS, help="The regions that this installation "
        "serves, separated by commas, `QUEUE_REGION` among them; requests that are signed for another are refused, "
        "and so are schedules whose target is in another, see [scaling.md](scaling.md). Empty: any region.")
    queue_access = Setting("off", choices=("off", "presence", "sigv4"), help="Which clients may call. `off`: all, "
        "with any credentials. `presence`: those that send credentials, whatever they are. `sigv4`: those that sign "
        "with a key of `penstock keys`, see [access.md](access.md).")
    queue_encryption_key = Setting("", unit="32 bytes, base64", secret=True, format=formats.ENCRYPTION_KEY, help=
        "Encrypts the secrets of access keys in the database. Needed by `QUEUE_ACCESS=sigv4` and `penstock keys "
        "create`.")
    queue_access_cache_seconds = Setting(30, unit="seconds", minimum=0, help="How long a process caches an access "
        "key: a revocation takes effect after this time. 0: every request looks the key up.")
    queue_refuse_kms = Setting(False, help="Refuse queues, topics and schedules with a KMS key, with which nothing is "
        "encrypted here, see [security.md](security.md).")
    queue_console = Setting("", choices=("off", "read", "full"), help="The console at `/console`, see "
        "[console.md](console.md). `off`: none. `read`: it shows, and changes nothing. `full`: it does what its user "
        "may do. Empty: `full` for `penstock up` on an address of this machine alone, and with `QUEUE_ACCESS=sigv4`; "
        "else `off`. With `QUEUE_ACCESS=presence` it is always off.")
    queue_mcp = Setting(False, help="Serve the Model Context Protocol at `/mcp`, for programs that assist an "
        "operator: it reads, see [mcp.md](mcp.md). It needs `pip install 'penstock[mcp]'`.")
    queue_peek_endpoint = Setting(False, help="Serve `GET /_aws/sqs/messages`, where test suites look at messages "
        "without receiving them, as LocalStack has it.")
    queue_localstack_health = Setting(False, help="Serve `GET /_localstack/health` for scripts that wait for it. It "
        "needs no credentials.")
    sns_cert_host = Setting("", unit="host", format=formats.HOST, help="Host of `SigningCertURL` in SNS messages, for "
        "validators that accept AWS's names only: `sns.<region>.amazonaws.com`, which your DNS then leads here. "
        "Empty: that of the message's other links.")
    sns_topic_filter_policies = Setting(200, unit="subscriptions", minimum=0, help="How many subscriptions of a topic "
        "may have a filter policy, as on AWS; then `FilterPolicyLimitExceeded`. 0: any number.")
    sns_account_filter_policies = Setting(10_000, unit="subscriptions", minimum=0, help="How many subscriptions of an "
        "account, in a region, may have a filter policy, as on AWS. 0: any number.")
    sns_gateway_url = Setting("", unit="address", hidden=True, format=formats.GATEWAY_URL, help="Carries text "
        "messages and mobile push: each is POSTed there, signed with `WEBHOOK_SIGNING_SECRET`, see "
        "[topics.md](topics.md#gateway). It may be in a private network. The workers `deliver` and `maintain` need "
        "it. Empty: the messages are kept.")
    sns_smtp_url = Setting("", unit="address", secret=True, format=formats.MAIL_SERVER, help="The mail server that "
        "takes e-mail for subscriptions: `smtp[s]://[user:password@]host[:port]`, see [topics.md](topics.md#e-mail). "
        "`smtps`: TLS from the start, port 465; `smtp`: STARTTLS, without which no password is sent, port 587. The "
        "workers `deliver` and `maintain` need it. Empty: mails are kept.")
    sns_mail_from = Setting("", unit="address", format=formats.MAIL_SENDER, help="Sender of e-mail: `Notifications "
        "<no-reply@example.com>`. Needed with `SNS_SMTP_URL`.")
    quota_confirmation_mails = Setting(10, unit="mails", minimum=0, help="How many mails an hour ask addresses to "
        "confirm subscriptions of an account; others wait. An address is asked once an hour. 0: any number.")
    sns_outbox_days = Setting(7, unit="days", minimum=1, maximum=3650, help="How long outgoing messages are kept that "
        "nothing carries, see [topics.md](topics.md#outbox).")
    quota_outbox = Setting(100_000, unit="messages", minimum=0, help="About how many outgoing messages of an account "
        "are kept: the newest, besides those that a gateway has yet to get. 0: any number.")
    quota_platform_applications = Setting(10_000, unit="applications", minimum=0, help="How many platform "
        "applications an account may have; then `InvalidParameter`. AWS names no such quota. 0: any number.")
    quota_platform_endpoints = Setting(10_000_000, unit="endpoints", minimum=0, help="How many endpoints of platform "
        "applications an account may have; then `InvalidParameter`. AWS names no such quota. 0: any number.")
    quota_opted_out_numbers = Setting(1_000_000, unit="phone numbers", minimum=0, help="How many phone numbers an "
        "account may note as opted out, those that it has opted in again included; then the REST API answers 429. AWS "
        "names no such quota. 0: any number.")
    quota_queues = Setting(100_000, unit="queues", minimum=0, help="How many queues an account may have; then "
        "`OverLimit`. AWS has no such quota. 0: any number.")
    quota_topics = Setting(100_000, unit="topics", minimum=0, help="How many topics an account may have, as on AWS; "
        "then `TopicLimitExceeded`. 0: any number.")
    quota_subscriptions = Setting(12_500_000, unit="subscriptions", minimum=0, help="How many subscriptions an "
        "account may have (on AWS: a topic); then `SubscriptionLimitExceeded`. 0: any number.")
    quota_schedules = Setting(10_000_000, unit="schedules", minimum=0, help="How many schedules an account may have "
        "(on AWS: in a region); then `ServiceQuotaExceededException`. 0: any number.")
    quota_mappings = Setting(10_000, unit="mappings", minimum=0, help="How many event source mappings an account may "
        "have; then `InvalidParameterValueException`. AWS names no such quota. 0: any number.")
    quota_firings_per_second = Setting(1000, unit="firings", minimum=0, help="About how many times a second the "
        "schedules of an account fire, retries included, as on AWS; others fire later. 0: any number.")
    quota_deliveries = Setting(1_000_000, unit="deliveries", minimum=0, help="About how many deliveries of an account "
        "may wait, and as many messages of a protocol for the gateway or the mail server; then a publish "
        "that adds one is refused: `Throttled`. AWS has no such quota. 0: any number.")
    quota_requests_per_second = Setting(0, unit="requests", minimum=0, help="How many requests a second a process "
        "takes of an account or, unless `QUEUE_ACCESS` is `sigv4`, of an address, where each 64 KiB count as one; "
        "then `RequestThrottled`, see [security.md](security.md#quotas). 0: any number.")
    queue_default_visibility_timeout = Setting(30, unit="seconds", minimum=0, maximum=43_200, help="VisibilityTimeout "
        "of a queue created without one.")
    queue_max_connections = Setting(10, unit="connections", minimum=1, help="Most database connections of one "
        "process, the one that listens not counted. Half of them, up to four, go to `DATABASE_DIRECT_URL`, the others "
        "to `DATABASE_URL`.")
    queue_database_driver = Setting("psycopg", choices=DRIVERS, help="The PostgreSQL driver of functions of Lambda. "
        "`pg8000` is imported in less time, but takes longer for a call.")
    queue_database_auth = Setting("password", choices=("password", "iam"), help="How connections to RDS log in. "
        "`password`: with that of the address. `iam`: with a token that each new connection makes from the process's "
        "credentials of AWS; the addresses then need `sslmode=verify-full`. See "
        "[deployment.md](deployment.md#iam-database-authentication).")
    queue_pool_timeout_ms = Setting(2000, unit="ms", minimum=1, help="Longest wait for a free database connection; "
        "then 503.")
    queue_database_call_timeout_ms = Setting(8000, unit="ms", minimum=100, help="Longest time for a call of the "
        "database; three times as long for one that cleans, measures or moves. Then its connection is closed, and the "
        "client gets 503: it is unknown whether the call took effect.")
    queue_request_timeout_seconds = Setting(30, unit="seconds", minimum=1, help="Longest time for a request, the wait "
        "of a long poll not counted; then 408.")
    queue_linger_ms = Setting(0, unit="ms", minimum=0, help="How long a send waits for others to share its database "
        "call. 0: not at all; concurrent sends are still put together while an earlier call is under way.")
    queue_batch_limit = Setting(16_384, unit="entries", minimum=1, help="Most entries that wait for a shared database "
        "call; beyond that 503.")
    queue_shards = Setting(4, unit="writers", minimum=1, maximum=64, help="How many transactions can write to one new "
        "queue side by side. More cost empty receives a little.")
    queue_purge_interval_seconds = Setting(60, unit="seconds", minimum=0, help="Least time between two PurgeQueue of "
        "a queue, as on AWS. 0: no limit.")
    queue_recreate_interval_seconds = Setting(60, unit="seconds", minimum=0, help="Least time between DeleteQueue and "
        "CreateQueue of one name, as on AWS. 0: no limit.")
    queue_in_flight_limit = Setting(120_000, unit="messages", minimum=0, help="About how many messages of a queue may "
        "be in flight, as on AWS. Beyond it a standard queue answers `OverLimit` to short polls, a FIFO queue hands "
        "out nothing. 0: no limit. Below 100,000 they are counted in every receive.")
    queue_maintain_interval_ms = Setting(2000, unit="ms", minimum=1, help="Pause between two rounds of cleaning, "
        "which all processes and functions share. A process that found nothing to clean waits five times as long and, "
        "where LISTEN works, until something changes.")
    queue_move_interval_ms = Setting(1000, unit="ms", minimum=1, help="Pause between two queries of a process for "
        "message move tasks to work on. Where LISTEN works, a process without a task waits until one starts, and "
        "begins to work on it within this time.")
    queue_idle_check_ms = Setting(30_000, unit="ms", minimum=10, help="Pause between two checks of a process, in "
        "which it asks the database whether notifications arrive, which work is due and whether anything changed. A "
        "lost notification, or a change through SQL, may stay unnoticed for this time.")
    queue_http_delivery_enabled = Setting(True, help="Deliver messages to subscribed "
        "HTTP(S) endpoints ([webhooks.md](webhooks.md)), functions, the gateway and the mail server.")
    queue_http_delivery_poll_ms = Setting(1000, unit="ms", minimum=10, help="Longest pause between two queries of a "
        "process for deliveries that are due. Where LISTEN works, a publish ends the pause, or the time of the next "
        "retry.")
    queue_http_delivery_timeout_secs = Setting(5, unit="seconds", minimum=1, maximum=15, help="How long the endpoint "
        "of an event may take to answer, connecting included. For subscriptions of SNS topics it is 15, as on AWS.")
    queue_http_delivery_batch_size = Setting(50, unit="deliveries", minimum=1, maximum=1000, help="Most deliveries "
        "that a process claims at once, and so most requests that it has under way.")
    queue_schedule_enabled = Setting(True, help="Fire schedules. A process without it stores them, and processes and "
        "functions that have it fire them.")
    queue_schedule_poll_ms = Setting(1000, unit="ms", minimum=1, help="Longest pause between two queries of a process "
        "for schedules to fire. It sleeps until the next one is due, and is woken when a nearer one is written; where "
        "LISTEN works only that ends the pause.")
    queue_schedule_batch_size = Setting(32, unit="schedules", minimum=1, maximum=1000, help="Most schedules that a "
        "process fires in one transaction.")
    queue_schedule_preview_count = Setting(5, unit="times", minimum=1, maximum=100, help="How many coming times the "
        "answers of `/v1/schedules` and `/v1/previews` show.")
    queue_schedule_list_max = Setting(1000, unit="schedules", minimum=1, help="Most schedules in an answer of `GET "
        "/v1/schedules`.")
    queue_schedule_misfire_grace_seconds = Setting(60, unit="seconds", minimum=0, help="How late a schedule without "
        "catch-up may fire; times missed by more are skipped.")
    queue_schedule_history_seconds = Setting(604_800, unit="seconds", minimum=60, help="How long the runs of "
        "schedules are listed.")
    webhook_allow_cidrs = Setting("", unit="networks", help="Networks that webhooks may reach although they are not "
        "public, separated by commas: `10.0.0.0/8,fd00::/8`. Empty: public addresses only.")
    webhook_signing_secret = Setting("", unit="whsec_…", secret=True, help="Signs webhooks of events as Standard "
        "Webhooks do: `whsec_` and the base64 text of 24 to 64 bytes. To change it, give the new one and the old one, "
        "separated by a blank: both sign.")
    webhook_log_answers = Setting(False, help="Keep the first 256 bytes of each answer of an endpoint in the log of "
        "attempts, for administrators. Answers from networks of `WEBHOOK_ALLOW_CIDRS` are never kept.")
    queue_lambda_endpoint = Setting("", unit="address", help="Where event source mappings, subscriptions of functions "
        "and schedules invoke functions: `https://lambda.eu-central-1.amazonaws.com`, or an emulator such as `sam "
        "local start-lambda`. Empty: a mapping can only have a URL, and messages for functions are kept in the "
        "outbox.")
    queue_lambda_functions = Setting("", unit="names or ARNs", help="The functions that this installation may invoke, "
        "separated by commas: names or ARNs, with `*` for any characters. Empty: any if `QUEUE_ACCESS` is `off`, else "
        "none.")
    queue_history_days = Setting(30, unit="days", minimum=1, help="How long the history of each message (without its "
        "body) is kept, for metrics.")
    queue_metrics_days = Setting(30, unit="days", minimum=1, maximum=36_500, help="How long the metrics job's windows "
        "of a minute are kept; those of an hour 12 times as long, those of a day for ever.")
    queue_metrics_timezone = Setting("UTC", unit="time zone", format=formats.TIME_ZONE, help="The time zone whose "
        "calendar days the daily metrics cover, such as `Europe/Berlin`. After a change, `--from` computes the days "
        "again, see [metrics.md](metrics.md).")
    queue_metrics_token = Setting("", secret=True, format=formats.TOKEN, help="The token that a scrape of `/metrics` "
        "sends as `Authorization: Bearer …`. Empty: `/metrics` is as open as `QUEUE_ACCESS` says, see "
        "[metrics.md](metrics.md#metrics).")
    queue_metrics_max_queues = Setting(1000, unit="queues", minimum=0, maximum=100_000, help="How many queues "
        '`/metrics` names; the others are added up as `queue="_other"`. Each costs up to 70 lines a scrape.')
    queue_metrics_interval_ms = Setting(10_000, unit="ms", minimum=100, help="Pause between two rounds of measuring "
        "all queues for `/metrics`, which all processes share. No round runs while nothing changes; `/metrics` then "
        "measures first.")
    queue_lambda_wait_seconds = Setting(2, unit="seconds", minimum=0, maximum=20, help="Longest wait for messages in "
        "the functions `Gateway` and `Rest`, see [deployment.md](deployment.md#long-polls); the function of "
        "ReceiveMessage has no such limit. 0: no request waits.")
    queue_lambda_concurrency = Setting(0, unit="environments", minimum=0, help="How many environments the function, "
        "`Gateway` or `Rest`, may have at once, which `template.yaml` sets to what it reserves: a quarter of them, "
        "rounded down, may wait for messages. 0: all of them.")
    queue_lambda_worker_seconds = Setting(65, unit="seconds", minimum=0, maximum=70, help="How long an invocation of "
        "the functions `Deliver`, `FireSchedules` and `Move`, once a minute, polls for new work. Over 60: "
        "until the next one does. 0: it ends when nothing is due, and new work may be a minute late; "
        "`PollMappings` polls for 45 seconds then.")
    queue_lambda_mappings = Setting(False, help="Functions of a serverless deployment have the API of event source "
        "mappings, since the function `PollMappings` polls for them. The container always does.")
    queue_usage_metrics = Setting(False, help="Functions of Lambda write a line of metrics for each request that "
        "sends, receives or deletes messages: SQS's own names, see [metrics.md](metrics.md).")
    queue_drain_seconds = Setting(4, unit="seconds", minimum=0, help="After SIGTERM or Ctrl-C: longest wait for "
        "requests under way.")
    queue_tracing = Setting(False, help="Functions of Lambda write a segment of X-Ray for each invocation. It needs a "
        "layer with the package aws-xray-sdk.")
    otlp_enabled = Setting(False, help="Record traces in the container and send them to a collector of OpenTelemetry, "
        "see [tracing.md](tracing.md). It needs the packages of the extra `tracing`.")
    otlp_endpoint = Setting("http://localhost:4317", unit="address", format=formats.COLLECTOR, help="The collector, "
        "by OTLP over gRPC. `https://`: with TLS.")
    otlp_service_name = Setting("penstock", help="`service.name` of the traces.")
    otlp_sample_rate = Setting(0.1, unit="share", minimum=0, maximum=1, help="How many of the traces that begin here "
        "are recorded: 0 none, 1 all. A caller's own decision, in its `traceparent`, counts for its requests.")
    log_level = Setting("info", choices=("debug", "info", "warning", "error", "critical"), help="Least severe log "
        "record to write.")
    access_log = Setting("off", choices=("off", "stdout", "stderr"), help="Whether the container writes a line of "
        "JSON for each request, and where, see [operations.md](operations.md#access-log).")
    # fmt: on

    def __init__(self, values: Mapping[str, Value]) -> None:
        """`values`: by attribute. An attribute that is not given has its default."""
        if unknown := values.keys() - {setting.attribute for setting in SETTINGS}:
            raise TypeError(f"no settings: {', '.join(sorted(unknown))}")
        vars(self).update(values)

    @classmethod
    def read(cls, variables: Mapping[str, str], **overrides: Value) -> Settings:
        """Settings from environment variables; `overrides`, by attribute, win (command line, tests).

        An empty variable counts as not set, as containers often pass it so. A secret that is not set is read from the
        file that its name with `_FILE` names (our choice). Raises SettingError.
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
        """The same settings with other values, by attribute."""
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
        """Whether QUEUE_REGIONS has the region."""
        return not self.queue_regions or region in formats.split_list(self.queue_regions)

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
        """Address for LISTEN, migrations and pipeline connections; empty without any address of a database."""
        return self.database_direct_url or self.database_url

    @property
    def call_seconds(self) -> float:
        """The deadline of a call of the database."""
        return self.queue_database_call_timeout_ms / 1000

    @property
    def host_and_port(self) -> tuple[str, int]:
        """QUEUE_ADDRESS in two parts. `[::1]:9324` gives `::1`."""
        return formats.split_address(self.queue_address)

    @property
    def local_authority(self) -> str:
        """Host and port under which this machine reaches QUEUE_ADDRESS."""
        host, port = self.host_and_port
        if host in EVERYWHERE:
            host = "localhost"
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def _all_values(self) -> tuple[Value, ...]:
        return tuple(getattr(self, setting.attribute) for setting in SETTINGS)


def _check_combinations(settings: Settings) -> None:
    """Raises SettingError for values that do not go together."""
    if settings.sns_smtp_url and not settings.sns_mail_from:
        raise SettingError("SNS_SMTP_URL needs SNS_MAIL_FROM")
    if not settings.serves(settings.queue_region):
        raise SettingError(
            f"QUEUE_REGIONS must have QUEUE_REGION, which is {settings.queue_region!r}, "
            f"not {settings.queue_regions!r}"
        )


def _add_iam_token(address: str) -> str:
    """The address with IAM_TOKEN as its last password, which is the one that counts in both forms of addresses."""
    if not address or IAM_TOKEN in address:
        return address
    if address.startswith(("postgresql://", "postgres://")):
        return f"{address}{'&' if '?' in address else '?'}password={IAM_TOKEN}"
    return f"{address} password={IAM_TOKEN}"


SETTINGS: Final[tuple[Setting[Any], ...]] = tuple(
    member for member in vars(Settings).values() if isinstance(member, Setting)
)
"""The settings, in the order of the class."""

ADDRESSES: Final = (Settings.database_url.name, Settings.database_direct_url.name)
"""The settings that are addresses of the database."""
