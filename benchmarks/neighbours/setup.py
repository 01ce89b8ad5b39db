"""Before the measurement, creates queues, topics with long policies, schedules and webhooks for both accounts."""

import json
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from http import HTTPStatus

import psycopg

from benchmarks.load.wire import call, create_queue
from benchmarks.penstock import Penstock
from benchmarks.studies.checks import sigv4
from benchmarks.system import free_port

from .clients import Account
from .probe import SCHEDULES, Target

QUIET, NOISY = "111111111111", "222222222222"
PATTERNS, PATTERN_LENGTH = 285, 102  # The policy of a topic can have at most 30,720 bytes.
WEBHOOKS, WEBHOOK_HOSTS = 1_000, 50
POLLED_QUEUES = 100
ROUTING_KEY = "events"
DELAY_SECONDS = 15  # the seconds from the start of a noise until its schedules fire

# An account can have at most this many schedules. All schedules are due in the same second of each minute.
FILL = """
insert into queue.schedule (account_id, region, name, api, expression_kind,
    expression, canonical, timezone, target, next_fire_at,
    due_at)
select %(account)s, 'us-east-1', 'noise' || n, 'rest', 'cron', f.cron, f.cron, 'UTC',
    '{"queue": "noise", "message": {"a": 1}}', f.at, f.at
from generate_series(1, %(count)s) n
cross join (
    select s.at, format('%%s * * * * *', extract(second from s.at)::int) as cron
    from (select date_trunc('second', clock_timestamp() + make_interval(secs => %(delay)s)) as at) s) f
"""
EMPTY = "delete from queue.schedule where account_id = %(account)s"
FORGET_WEBHOOKS = "delete from queue.outgoing_delivery where account_id = %(account)s"


@dataclass(frozen=True, slots=True)
class Sizes:
    """Defines the amount of noise."""

    schedules: int = 10_000
    polls: int = 10_000
    senders: int = 64
    publishers: int = 8


@dataclass(frozen=True, slots=True)
class Installation:
    """Holds a service with both accounts, and the port of the noisy account's slow endpoint."""

    service: Penstock
    quiet: Target
    noisy: Account
    topic_arn: str
    slow_port: int


def settings() -> dict[str, str]:
    """Returns the service's settings, which require signatures and allow purges without a waiting period."""
    return sigv4() | {"QUEUE_PURGE_INTERVAL_SECONDS": "0"}


def set_up(service: Penstock) -> Installation:
    quiet, noisy = (
        Account(service.create_key(account), service.create_bearer_key(account)) for account in (QUIET, NOISY)
    )
    target = Target(service.endpoint, service.dsn, quiet, "quiet", ROUTING_KEY, free_port())
    create_queue(quiet.address(service.endpoint, "quiet"))
    create_queue(quiet.address(service.endpoint, "fired"))
    bind(service, quiet, ROUTING_KEY, f"http://127.0.0.1:{target.port}/")
    put_schedules(service, quiet)
    create_queue(noisy.address(service.endpoint, "noise"), MessageRetentionPeriod="60")
    for number in range(POLLED_QUEUES):
        create_queue(noisy.address(service.endpoint, f"polled{number}"))
    port = free_port()
    for number in range(WEBHOOKS):
        bind(service, noisy, "noise", f"http://127.2.0.{number % WEBHOOK_HOSTS + 1}:{port}/{number}")
    return Installation(service, target, noisy, create_topic(service, noisy), port)


def rest(service: Penstock, account: Account, method: str, path: str, document: object) -> None:
    """Sends a request to the REST API. Raises urllib.error.HTTPError."""
    headers = {"Authorization": account.bearer, "Content-Type": "application/json"}
    data = json.dumps(document).encode()
    request = urllib.request.Request(f"{service.endpoint}/v1{path}", data, headers, method=method)
    while True:
        try:
            urllib.request.urlopen(request, timeout=60).close()
        except urllib.error.HTTPError as error:
            # The setup exceeds the quota, so the function retries refused requests.
            if error.code != HTTPStatus.TOO_MANY_REQUESTS:
                raise
            time.sleep(int(error.headers["Retry-After"]))
        else:
            return


def bind(service: Penstock, account: Account, routing_key: str, url: str) -> None:
    binding = {"protocol": "http", "endpoint": url}
    rest(service, account, "POST", f"/events/{routing_key}/subscriptions", binding)


def put_schedules(service: Penstock, account: Account) -> None:
    """Creates the quiet account's schedules, which fire each second."""
    target = {"queue": "fired", "message": "hello"}
    schedules = [{"name": f"s{n}", "cron": "* * * * * *", "target": target} for n in range(SCHEDULES)]
    rest(service, account, "PUT", "/schedules", schedules)


def create_topic(service: Penstock, account: Account) -> str:
    """Creates a topic whose policy denies publishing to many patterns of callers. No caller matches."""
    address = account.address(service.endpoint)
    made = call(address, "CreateTopic", {"Name": "noise"}, "AmazonSNS")
    arn = str(made["TopicArn"])
    start = f"{arn.rpartition(':')[0]}:"
    patterns = [(start + "n*o*i*s*e*" * 20)[: PATTERN_LENGTH - 4] + f"{number:04}" for number in range(PATTERNS)]
    deny = {"Effect": "Deny", "Principal": "*", "Action": "sns:Publish", "Resource": patterns}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [deny]}, separators=(",", ":"))
    payload: dict[str, object] = {"TopicArn": arn, "AttributeName": "Policy", "AttributeValue": policy}
    call(address, "SetTopicAttributes", payload, "AmazonSNS")
    return arn


def fill_schedules(installation: Installation, count: int) -> None:
    """Creates the noisy account's schedules, which are all due at the same time."""
    values = {"account": NOISY, "count": count, "delay": DELAY_SECONDS}
    with psycopg.connect(installation.service.dsn, autocommit=True) as connection:
        connection.execute(FILL, values)


def clean_up(installation: Installation) -> None:
    """Removes the remaining messages of the noise and the probe."""
    service = installation.service
    with psycopg.connect(service.dsn, autocommit=True) as connection:
        connection.execute(EMPTY, {"account": NOISY})
        connection.execute(FORGET_WEBHOOKS, {"account": NOISY})
    quiet = installation.quiet.account
    for account, queue in ((installation.noisy, "noise"), (quiet, "quiet"), (quiet, "fired")):
        address = account.address(service.endpoint, queue)
        call(address, "PurgeQueue", {"QueueUrl": address.queue_url})
    service.settle()
