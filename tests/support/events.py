"""Event buses in tests of SQL and of the worker: buses, subscribers and publications without a service."""

from uuid import UUID, uuid4

import msgspec
import psycopg
from psycopg.types.json import Jsonb

from penstock.events.connections import AuthParameters, ParameterCipher, hide_secrets
from penstock.settings import Settings
from penstock.workers.events import EventDeliverer
from tests.support.database import Database
from tests.support.sql.calls import Connection, bodies, receive, value

ACCOUNT, REGION = "000000000000", "us-east-1"
SETTINGS = Settings.read({})
BUS = f"arn:aws:events:{REGION}:{ACCOUNT}:event-busv2/orders/0000000000000000000000000"


def add_bus(db: Connection, name: str = "orders", arn: str = BUS, days: int = 1) -> str:
    row = "select error from queue.create_event_bus(%s, %s, %s, %s, %s, null, null)"
    fields = Jsonb({"retention_days": days, "tags": {}})
    assert value(db, row, ACCOUNT, REGION, name, arn, fields) is None
    return arn


def build_arns(account: str, bus: str, subscriber: str) -> tuple[str, str]:
    """Returns the ARNs of the bus and the subscriber that `store_bus` stores."""
    head = f"arn:aws:events:{REGION}:{account}"
    return f"{head}:event-busv2/{bus}/{'0' * 25}", f"{head}:subscriber/{subscriber}/{'0' * 25}"


def store_bus(database: Database, account: str, bus: str, subscriber: str) -> None:
    """Stores a bus and a subscriber, to which no worker delivers, in the database of a running service."""
    bus_arn, subscriber_arn = build_arns(account, bus, subscriber)
    fields = {
        "type": "FIFO",
        "starting_position": "LATEST",
        "state": "RUNNING",
        "target_arn": f"arn:aws:sqs:{REGION}:{account}:q",
        "configuration": {
            "InvokeConfiguration": {
                "TargetArn": f"arn:aws:sqs:{REGION}:{account}:q",
                "RoleArn": f"arn:aws:iam::{account}:role/r",
            }
        },
        "tags": {},
        "deliverable": False,
    }
    with psycopg.connect(database.dsn, autocommit=True) as db:
        db.execute(
            "select queue.create_event_bus(%s, %s, %s, %s, %s, null, null)",
            (account, REGION, bus, bus_arn, Jsonb({"retention_days": 1, "tags": {}})),
        )
        db.execute(
            "select queue.create_event_subscriber(%s, %s, %s, %s, %s, %s, null, null)",
            (bus_arn, account, REGION, subscriber, subscriber_arn, Jsonb(fields)),
        )


def store_webhook(database: Database, bus_arn: str, name: str) -> str:
    """Stores a webhook, whose credential no service can decrypt, and returns its ARN."""
    arn = f"{bus_arn.partition(':event-busv2')[0]}:event-sourcev2/webhook/{name}/{'0' * 25}"
    with psycopg.connect(database.dsn, autocommit=True) as db:
        db.execute(
            "select queue.create_event_source(%s, %s, %s, %s, %s, %s, %s, '', null, null)",
            (bus_arn, bus_arn.split(":")[4], REGION, name, arn, Jsonb({"configuration": {}, "tags": {}}), name),
        )
    return arn


def store_destination(
    database: Database, account: str, name: str, url: str = "https://a.example/", key: str | None = None
) -> tuple[str, str]:
    """Stores a connection with an API key, which no worker can decrypt without `key`, and an API destination. Returns
    their ARNs."""
    head, uuid = f"arn:aws:events:{REGION}:{account}", "00000000-0000-4000-8000-000000000000"
    connection, destination = f"{head}:connection/{name}/{uuid}", f"{head}:api-destination/{name}/{uuid}"
    given = {"ApiKeyAuthParameters": {"ApiKeyName": "x-key", "ApiKeyValue": "k1"}}
    parameters = msgspec.convert(given, AuthParameters)
    sealed = b"sealed" if key is None else ParameterCipher(key).seal(parameters, connection, account)
    fields = {"authorization_type": "API_KEY", "parameters": hide_secrets(parameters)}
    more = {"connection_arn": connection, "invocation_endpoint": url, "http_method": "POST", "rate_limit": 300}
    with psycopg.connect(database.dsn, autocommit=True) as db:
        db.execute(
            "select queue.create_connection(%s, %s, %s, %s, %s, %s)",
            (account, REGION, name, connection, Jsonb(fields), sealed),
        )
        db.execute(
            "select queue.create_api_destination(%s, %s, %s, %s, %s)",
            (account, REGION, name, destination, Jsonb(more)),
        )
    return connection, destination


def put(db: Connection, bus: str, *bodies: str, **arrays: object) -> list[tuple[UUID, int, bool]]:
    """Publishes events with JSON payloads. Returns their ids, numbers, and whether they are duplicates."""
    names = "".join(f", p_{name} => %s" for name in arrays)
    ids = [uuid4() for _ in bodies]
    rows = db.execute(
        "select numbers, originals, error from queue.put_bus_events("
        f"%s, '{ACCOUNT}', %s, array_fill(1::smallint, array[%s]), %s::bytea[]{names})".encode(),
        [bus, ids, len(bodies), [body.encode() for body in bodies], *arrays.values()],
    ).fetchall()
    ((numbers, originals, error),) = rows
    assert error is None
    originals = originals or [None] * len(ids)
    return [(was or own, n, was is not None) for own, n, was in zip(ids, numbers, originals, strict=True)]


def sequence(db: Connection, limit: int = 1000) -> int:
    count: int = value(db, "select queue.sequence_events(%s)", limit)
    return count


def subscribe(
    db: Connection,
    target: str,
    name: str = "all",
    bus: str = BUS,
    start_at: str | None = None,
    state: str = "RUNNING",
    parameters: dict[str, object] | None = None,
    **configuration: object,
) -> str:
    """Creates a subscriber as CreateSubscriber stores it. Returns its ARN."""
    kinds = {"sns": "SnsParameters", "events": "EventBusV2Parameters", "lambda": "LambdaParameters"}
    kind = kinds.get(target.split(":")[2], "SqsParameters")
    if ":aws-sdk:" in target:
        kind = "UniversalTargetParameters"
    elif ":api-destination/" in target:
        kind = "HttpParameters"
    stored = {
        "InvokeConfiguration": {"TargetArn": target, "RoleArn": f"arn:aws:iam::{ACCOUNT}:role/r", kind: parameters},
        "Transformer": {"Type": "RAW"},
        "RetryPolicy": {"MaxRetryAttempts": 5, "MaxEventAgeInSeconds": 300, "RetryStrategy": "ALL"},
        "BatchConfiguration": {"MaxBatchSize": 10, "MaxBatchWindowInSeconds": 0},
        **configuration,
    }
    arn = f"arn:aws:events:{REGION}:{ACCOUNT}:subscriber/{name}/0000000000000000000000000"
    fields = {
        "type": "UNORDERED",
        "starting_position": "LATEST" if start_at is None else "POINT_IN_TIME",
        "state": state,
        "target_arn": target,
        "configuration": stored,
        "tags": {},
        "start_at": start_at,
    }
    row = "select error from queue.create_event_subscriber(%s, %s, %s, %s, %s, %s, null, null)"
    assert value(db, row, bus, ACCOUNT, REGION, name, arn, Jsonb(fields)) is None
    return arn


def change_state(db: Connection, subscriber: str, state: str, resume: str | None = None) -> None:
    row = "select error from queue.update_event_subscriber(%s, %s, '{}', %s)"
    assert value(db, row, subscriber, state, resume) is None


def run(db: Connection, **expected: int) -> None:
    """Runs the worker until no bus has work, and checks what it did."""
    counts = EventDeliverer().run_once(SETTINGS, db)
    assert {name: count for name, count in counts.items() if count and name != "sequenced"} == expected


def take(db: Connection, queue: str) -> list[str]:
    """Receives messages until the queue is empty. Returns their bodies in the order of the texts."""
    found: list[str] = []
    while received := bodies(receive(db, queue, 10)):
        found += received
    return sorted(found)


def expire_pauses(db: Connection) -> None:
    db.execute("update queue.event_retry set due_at = due_at - interval '1 hour'")
