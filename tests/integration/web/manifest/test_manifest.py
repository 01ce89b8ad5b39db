"""Tests `penstock apply`, `export` and `import` against a running service and against moto
(docs/guides/penstock_file.md)."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import psycopg
import pytest
import yaml
from moto import mock_aws

from penstock.access.users import build_user_arn
from penstock.postgres.statements.access import LIST_AUDIT
from penstock_web.cli import main
from penstock_web.local.announced import announce
from tests.support.database import TestServer
from tests.support.programs.penstock_service import running_service
from tests.support.programs.penstock_up import COMMAND, running
from tests.support.sql.calls import call

Command = Callable[..., str]
FILE = """
queues:
  orders:
    attributes: {VisibilityTimeout: 60, archive: true}
    dead_letters: {queue: orders-failed, max_receives: 5}
    tags: {team: shop}
    policy:
      Version: "2012-10-17"
      Statement:
        - Effect: Allow
          Principal: {AWS: "${account}"}
          Action: sqs:SendMessage
          Resource: "arn:aws:sqs:${region}:${account}:orders"
    events:
      - {pattern: "shop.#", filter: {kind: [book]}}
    mappings:
      - {function: "https://shop.example/orders", enabled: false, batch_size: 20, window_secs: 2, max_concurrency: 3,
         filters: [{body: {kind: [book]}}], report_failures: true, tags: {team: shop}}
  orders-failed:
    dead_letters_from: [orders]
  steps.fifo:
    attributes: {ContentBasedDeduplication: true}
topics:
  placed:
    attributes: {DisplayName: Shop}
    tags: {team: shop}
    subscriptions:
      - {queue: orders, filter: {kind: [book]}, filter_on: body, raw: true, dead_letters: orders-failed}
schedules:
  nightly: {cron: "0 3 * * *", target: {queue: orders, message: {report: 1.5}}}
  once: {fire_at: 2199-01-01T00:00:00Z, target: {topic: shop.late, message: hello}}
  often: {every: 5m, target: {queue: orders, message: x, headers: {kind: y}}, status: paused}
buses:
  shop:
    retention_days: 7
    description: Orders
    tags: {team: shop}
    events: [{pattern: orders.*, filter: {kind: [book]}}, {pattern: refunds.*}]
    subscribers:
      billing:
        target: arn:aws:sqs:${region}:${account}:orders
        type: FIFO
        filters: {DATA: {detail: {amount: [{numeric: [">", 10]}]}}}
        configuration: {RetryPolicy: {MaxRetryAttempts: 7}, Transformer: {Type: WITH_METADATA}}
        tags: {team: shop}
"""
MADE = [
    "+ queue orders",
    "+ queue orders-failed",
    "+ queue steps.fifo",
    "+ topic placed",
    "+ subscription placed to orders",
    "+ schedule nightly",
    "+ schedule once",
    "+ schedule often",
    "+ mapping orders to https://shop.example/orders",
    "+ bus shop",
    "+ subscriber shop/billing",
]


@pytest.fixture(autouse=True)
def _without_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "DATABASE_URL", "DATABASE_DIRECT_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def dsn(postgres: TestServer) -> Iterator[str]:
    with postgres.database() as database:
        yield database.api_dsn


@pytest.fixture
def penstock(dsn: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """Runs a command on a new service and returns its output."""
    with running_service(dsn) as service:
        monkeypatch.setenv("PENSTOCK_ENDPOINT", service.url)

        def run(*arguments: str, error: str = "") -> str:
            code = main(arguments)
            output = capsys.readouterr()
            assert (code, error in output.err) == (1 if error else 0, True), output
            return output.out

        yield run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "penstock.yaml"
    path.write_text(FILE)
    return path


def plan(printed: str) -> list[str]:
    return [line for line in printed.splitlines() if line[:2] in ("+ ", "~ ", "- ")]


def test_a_file_is_applied_once_and_exported(penstock: Command, file: Path, tmp_path: Path) -> None:
    apply = ("apply", "-f", str(file))
    file.write_text("queues: {a: {dead_letters: {queue: b, max_receives: 1}}}")
    penstock(*apply, error="penstock.yaml:1: neither the file nor the service has the queue 'b' (queues.a.dead_l")
    file.write_text(FILE)
    assert plan(penstock(*apply, "--dry-run")) == MADE
    assert plan(penstock(*apply)) == MADE
    assert penstock(*apply) == "nothing to do\n"
    exported = penstock("export")
    assert yaml.safe_load(exported)["queues"] == {
        **yaml.safe_load(FILE)["queues"],
        "orders": {
            **yaml.safe_load(FILE)["queues"]["orders"],
            "attributes": {"VisibilityTimeout": 60, "archive": True},
        },
        "orders-failed": {"attributes": {"VisibilityTimeout": 30}, "dead_letters_from": ["orders"]},
        "steps.fifo": {"attributes": {"VisibilityTimeout": 30, "ContentBasedDeduplication": True}},
    }
    again = tmp_path / "again.yaml"
    again.write_text(exported)
    assert penstock("apply", "-f", str(again), "--prune") == "nothing to do\n"
    assert plan(penstock(*apply, "--prune")) == []


OTHER_TARGET = {"buses": {"shop": {"subscribers": {"billing": {"target": "arn:aws:sqs:us-east-1:000000000000:other"}}}}}


def check_bus(shown: dict[str, Any]) -> None:
    """Checks the exported bus. The members of RetryPolicy that the file omits are unchanged."""
    assert shown.keys() == {"retention_days", "description", "subscribers", "events"}
    assert shown["events"] == [{"pattern": "orders.*", "filter": {"kind": ["film"]}}, {"pattern": "returns.#"}]
    billing = shown["subscribers"]["billing"]
    assert (billing["stopped"], "filters" in billing, billing["type"]) == (True, False, "FIFO")
    retries = {"MaxRetryAttempts": 7, "MaxEventAgeInSeconds": 60, "RetryStrategy": "ALL"}
    assert billing["configuration"]["RetryPolicy"] == retries


def test_changes_and_deletions(penstock: Command, file: Path) -> None:
    apply = ("apply", "-f", str(file))
    penstock(*apply)
    penstock("send", "steps.fifo", "1", "--group", "a")
    data = yaml.safe_load(FILE)
    data["queues"]["orders"] |= {"attributes": {"VisibilityTimeout": 90}, "tags": {}, "policy": None, "events": []}
    data["queues"]["orders"]["dead_letters"]["max_receives"] = 6
    mapping = {"function": "https://shop.example/more", "enabled": False}
    data["queues"]["orders"]["mappings"] = [mapping]
    data["queues"]["orders-failed"] = {"mappings": [mapping | {"batch_size": 5}]}
    del data["queues"]["steps.fifo"], data["schedules"]["once"]
    data["schedules"]["nightly"]["cron"] = "0 4 * * *"
    (subscription,) = data["topics"]["placed"]["subscriptions"]
    subscription |= {"filter": None, "raw": False}
    data["topics"]["placed"]["attributes"]["DisplayName"] = "Store"
    data["buses"]["shop"] |= {"retention_days": 3, "tags": {}}
    data["buses"]["shop"]["events"] = [{"pattern": "orders.*", "filter": {"kind": ["film"]}}, {"pattern": "returns.#"}]
    data["buses"]["shop"]["subscribers"]["billing"] |= {
        "stopped": True, "filters": {}, "configuration": {"RetryPolicy": {"MaxEventAgeInSeconds": 60}},
    }  # fmt: skip
    file.write_text(yaml.safe_dump(data))
    printed = penstock(*apply, "--prune", error="pass --yes to delete")
    changed = [
        "~ queue orders", "~ topic placed", "~ subscription placed to orders", "~ schedule nightly",
        "+ mapping orders to https://shop.example/more", "- mapping orders to https://shop.example/orders",
        "+ mapping orders-failed to https://shop.example/more", "~ bus shop", "~ subscriber shop/billing",
        "- schedule once", "- queue steps.fifo (with about 1 message)",
    ]  # fmt: skip
    assert plan(printed) == changed
    assert "    VisibilityTimeout: 60 → 90" in printed.splitlines()
    assert plan(penstock(*apply, "--prune", "--yes")) == changed
    assert penstock(*apply, "--prune") == "nothing to do\n"
    shown = yaml.safe_load(penstock("export"))
    assert shown["queues"].keys() == {"orders", "orders-failed"}
    assert shown["queues"]["orders"].keys() == {"attributes", "dead_letters", "mappings"}
    assert shown["queues"]["orders"]["mappings"] == [mapping]
    check_bus(shown["buses"]["shop"])
    file.write_text(yaml.safe_dump(OTHER_TARGET))
    penstock(*apply, error="subscriber shop/billing: no API changes its target and type.")
    started = mapping | {"enabled": True, "filters": [{}]}
    file.write_text(yaml.safe_dump({"queues": {"orders": {"mappings": [started]}}}))
    assert penstock(*apply).splitlines()[:4] == [
        "account 000000000000, region us-east-1:",
        "~ mapping orders to https://shop.example/more",
        "    enabled: false → true",
        "    filters: [] → [{}]",
    ]
    file.write_text("queues: {orders: }")
    gone = plan(penstock(*apply, "--prune", "--yes"))
    assert [line for line in gone if "mapping" in line] == ["- mapping orders-failed to https://shop.example/more"]
    assert [line for line in gone if "shop/" in line or "bus" in line] == ["- subscriber shop/billing", "- bus shop"]
    assert shown["topics"]["placed"]["subscriptions"] == [
        {"queue": "orders", "filter_on": "body", "dead_letters": "orders-failed"}
    ]


def test_a_file_is_about_one_region(penstock: Command, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command uses the region of the service unless an option names a region. The command ignores the region that
    the shell sets for SDKs.
    """
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "eu-central-1")
    file.write_text(
        "queues: {a: {events: [{pattern: 'a.#'}]}}\nschedules: {s: {every: 1h, target: {queue: a, message: x}}}"
    )
    apply = ("apply", "-f", str(file))
    assert plan(penstock(*apply)) == ["+ queue a", "+ schedule s"]
    assert penstock(*apply) == "nothing to do\n"
    there = ("--region", "eu-west-1")
    assert yaml.safe_load(penstock("export", *there)) == {}
    assert plan(penstock(*apply, *there)) == ["+ queue a", "+ schedule s"]
    assert penstock(*apply, *there) == "nothing to do\n"
    assert yaml.safe_load(penstock("export", *there)) == yaml.safe_load(penstock("export"))


def test_users_are_in_the_database(
    penstock: Command, dsn: str, file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The command finds the service that `penstock up` started on this machine."""
    document = {"Statement": {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "*"}}
    file.write_text(yaml.safe_dump({"users": {"shop": {"policies": ["read", document]}}}))
    apply = ("apply", "-f", str(file))
    penstock(*apply, error="Set DATABASE_URL")
    folder = tmp_path / "data"
    monkeypatch.setattr("penstock_web.local.chosen_database.service_dsn", {folder: dsn}.get)
    with announce(os.environ["PENSTOCK_ENDPOINT"], folder):
        assert plan(penstock(*apply)) == ["+ user shop"]
    monkeypatch.setenv("DATABASE_URL", dsn)
    assert penstock(*apply) == "nothing to do\n"
    assert yaml.safe_load(penstock("export"))["users"] == {"shop": {"policies": ["read", document]}}
    file.write_text("users: {shop: {policies: []}}")
    assert plan(penstock(*apply)) == ["~ user shop"]
    file.write_text("users: {other: {policies: [read]}}")
    assert set(plan(penstock(*apply, "--prune", "--yes"))) == {"+ user other", "- user shop (with its keys)"}
    with psycopg.connect(dsn) as db:
        rows = call(db, LIST_AUDIT, "000000000000", None, 100, None, None)
    target = build_user_arn("000000000000", "shop")
    acts = [row.action for row in rows if (row.target, row.interface) == (target, "database") and row.actor]
    assert acts == ["penstock:EndUser", "penstock:SetUser", "penstock:SetUser"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("queues:\n  a:\n    atributes: {}\n", ":3: 'atributes' is not allowed here. Did you mean 'attributes'? ("),
        ("queue:\n  orders:\n", ":1: the section 'queue' does not exist. Did you mean 'queues'?"),
        ("queues:\n  b:\n    dead_letters: {queue: a, max_receives: x}\n", ":3: expected `int`, got `str` (qu"),
        ("queues:\n  a:\n  a:\n", ":3: 'a' is also in line 2"),
        ("queues:\n  a: [\n", ":3: "),
        ("topics:\n  t:\n    subscriptions: [{raw: true}]\n", ":3: a subscription must have either"),
        ("queues: {a: {attributes: {DelaySeconds: 1000}}}", ":1: Invalid value for the parameter DelaySeconds (q"),
        ("queues:\n  a:\n    attributes:\n      MaximumMessageSize: 2048\n      DelaySeconds: 1000\n", ":5: Invalid"),
        ("queues:\n  a:\n    tags: {}\n    policy: {Statement: 1}\n", ":4: "),
        ("topics: {a.fifo: {attributes: {ArchivePolicy: '[]'}}}", "ArchivePolicy: failed to parse JSON (topics."),
        ("topics:\n  t:\n    policy: {Statement: 1}\n", ":3: Invalid parameter: Policy Error: null (topics.t.p"),
        ("topics: {t: {subscriptions: [{url: 'https://example.com', filter: {a: 1}}]}}", " (topics.t.subscr"),
        ("schedules: {s: {cron: '* * *', target: {queue: a, message: 1}}}", " (schedules.s.cron)"),
        ("queues: {a: {mappings: [{function: f, batch_size: 20}]}}", ":1: Maximum batch window"),
        ("queues:\n  a:\n    mappings: [{function: f, batch_size: 0}]\n", ":3: expected `int` >= 1 (queues.a.mapp"),
        ("queues: {a: {mappings: [{function: f, filters: [{a: 1}]}]}}", "definition. Invalid parameter: Filter"),
        ("queues: {a: {mappings: [{function: 'a b'}]}}", ":1: a b is not the name"),
        ("schedules:\n  s:\n    cron: '* * *'\n    target: {queue: a, message: 1}\n", ":3: "),
        ("topics:\n  t:\n    subscriptions:\n      - queue: a\n        filter: {a: 1}\n", ":5: "),
        ("topics: {t: {subscriptions: [{queue: a, replay: {PointType: Timestamp}}]}}", "only a subscription to"),
        ("topics: {t.fifo: {subscriptions: [{queue: a, replay: {PointType: x}}]}}", "must be Timestamp (topics"),
        ("users:\n  u:\n    policies:\n      - read\n      - reader\n", ":5: a policy must be "),
    ],
)  # fmt: skip
def test_mistakes_are_found_before_anything_is_asked(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    monkeypatch.setenv("PENSTOCK_ENDPOINT", "http://127.0.0.1:1")
    file.write_text(text)
    assert main(["apply", "-f", str(file)]) == 1
    assert said in capsys.readouterr().err


REPLAYED = """
buses: {kept: {}}
queues: {steps.fifo: {}}
topics:
  steps.fifo:
    attributes: {ArchivePolicy: '{"MessageRetentionPeriod":"7"}', PenstockBus: kept}
    subscriptions:
      - {queue: steps.fifo, replay: {PointType: Timestamp, StartingPoint: 2026-01-01T00:00:00Z}}
"""


def test_a_topic_is_kept_and_a_subscription_replays(penstock: Command, file: Path) -> None:
    """The bus of a topic comes first. A replay that the file no longer has ends."""
    file.write_text(REPLAYED)
    apply = ("apply", "-f", str(file))
    assert "+ subscription steps.fifo to steps.fifo" in plan(penstock(*apply))
    assert penstock(*apply) == "nothing to do\n"
    file.write_text(REPLAYED.partition(", replay")[0] + "}")
    assert plan(penstock(*apply)) == ["~ subscription steps.fifo to steps.fifo"]
    assert penstock(*apply) == "nothing to do\n"


def test_a_service_starts_with_a_file(
    dsn: str, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The service becomes ready after it has applied the file."""
    with running("--file", str(file), DATABASE_URL=dsn) as service:
        assert service.lines[:2] == ["11 changes made by --file", f"penstock ready on {service.address}"]
        monkeypatch.setenv("PENSTOCK_ENDPOINT", service.address)
        assert main(["apply", "-f", str(file)]) == 0
        assert capsys.readouterr().out == "nothing to do\n"


def test_a_file_that_cannot_be_applied_ends_the_start(dsn: str, file: Path) -> None:
    file.write_text("queues: {a: {dead_letters: {queue: b, max_receives: 1}}}")
    command = [*COMMAND, "up", "--port", "0", "--file", str(file)]
    environment = {**os.environ, "DATABASE_URL": dsn}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "yaml:1: neither the file nor the service has the queue 'b' (queues.a.dead_letters" in done.stderr


def test_the_schema_knows_schedules_too(capsys: pytest.CaptureFixture[str]) -> None:
    """`make check` validates examples/penstock.yaml with this schema."""
    assert main(["apply", "--schema"]) == 0
    parts = json.loads(capsys.readouterr().out)["$defs"]
    assert parts["Manifest"]["properties"].keys() == {
        "queues", "topics", "schedules", "connections", "api_destinations", "buses", "users",
    }  # fmt: skip
    assert {"cron", "every", "target"} <= parts["NewSchedule"]["properties"].keys()
    assert parts["ManifestQueue"]["additionalProperties"] is False


def test_moto_is_imported(penstock: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "imported.yaml"
    with mock_aws():
        fill()
        assert main(["import", "--from", "aws", "-o", str(path)]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "penstock: left out: the subscription of topic placed to email shop@example.com",
        "penstock: the file names no region: apply it with `penstock apply --region us-east-1`",
    ]
    made = plan(penstock("apply", "-f", str(path)))
    assert len(made) == 7
    assert penstock("apply", "-f", str(path)) == "nothing to do\n"
    assert yaml.safe_load(penstock("export")) == yaml.safe_load(path.read_text())
    queues = yaml.safe_load(path.read_text())["queues"]
    assert queues["orders"]["dead_letters"] == {"queue": "orders-failed", "max_receives": 3}
    assert queues["orders"]["policy"]["Statement"][0]["Resource"] == "arn:aws:sqs:${region}:${account}:orders"


def fill() -> None:
    """Creates queues with dead letters, a policy and tags, a FIFO queue, and topics with several kinds of
    subscriptions.
    """
    sqs, sns = (boto3.client(name, region_name="us-east-1") for name in ("sqs", "sns"))
    arns = {}
    for name, attributes in {
        "orders-failed": {"MessageRetentionPeriod": "1209600"},
        "orders": {"VisibilityTimeout": "45", "DelaySeconds": "1"},
        "steps.fifo": {"FifoQueue": "true", "ContentBasedDeduplication": "true"},
    }.items():
        queue = sqs.create_queue(QueueName=name, Attributes=attributes, tags={"team": "shop"})["QueueUrl"]
        arns[name] = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    orders = sqs.get_queue_url(QueueName="orders")["QueueUrl"]
    redrive = {"deadLetterTargetArn": arns["orders-failed"], "maxReceiveCount": 3}
    statement = {
        "Sid": "topic", "Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage",
        "Resource": arns["orders"],
    }  # fmt: skip
    policy = {"Version": "2012-10-17", "Statement": [statement]}
    sqs.set_queue_attributes(
        QueueUrl=orders, Attributes={"RedrivePolicy": json.dumps(redrive), "Policy": json.dumps(policy)}
    )
    for name, attributes in {"placed": {"DisplayName": "Shop"}, "steps.fifo": {"FifoTopic": "true"}}.items():
        tags = [{"Key": "team", "Value": "shop"}]
        topic = sns.create_topic(Name=name, Attributes=attributes, Tags=tags)["TopicArn"]
        target = "steps.fifo" if name == "steps.fifo" else "orders"
        sns.subscribe(
            TopicArn=topic, Protocol="sqs", Endpoint=arns[target],
            Attributes={"RawMessageDelivery": "true", "FilterPolicy": json.dumps({"kind": ["book"]})},
        )  # fmt: skip
    placed = f"arn:aws:sns:us-east-1:{arns['orders'].split(':')[4]}:placed"
    sns.subscribe(TopicArn=placed, Protocol="email", Endpoint="shop@example.com")


def test_all_names_are_checked(file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The command does not show a plan that the service would refuse. The command sends no request to the service."""
    monkeypatch.setenv("PENSTOCK_ENDPOINT", "http://127.0.0.1:1")
    file.write_text(
        'queues:\n  "bad name!": {}\n  good: {tags: {"": x}}\n  "worse name!": {}\ntopics:\n  "a.b": {}\n'
        '  t.fifo: {}\nschedules:\n  "s s": {cron: "* * * * *", target: {queue: good, message: m}}\n'
    )
    assert main(["apply", "-f", str(file), "--dry-run"]) == 1
    captured = capsys.readouterr()
    lines = [line.split(":")[1] for line in captured.err.removeprefix("penstock: ").splitlines()]
    assert (captured.out, lines) == ("", ["2", "3", "4", "6", "9"]), captured.err


MISSING = """queues:
  a: {dead_letters: {queue: m1, max_receives: 1}}
topics:
  t:
    subscriptions:
      - {queue: m2, dead_letters: m3}
      - {queue: a}
schedules:
  s: {every: 1h, target: {queue: m4, message: m}}
"""


def test_all_missing_queues_are_named(penstock: Command, file: Path) -> None:
    file.write_text(MISSING)
    apply = ("apply", "-f", str(file))
    for number, line in ((1, 2), (2, 6), (3, 6), (4, 9)):
        penstock(*apply, error=f"{file}:{line}: neither the file nor the service has the queue 'm{number}' (")


def test_attributes_that_need_each_other_are_checked_with_the_current_ones(penstock: Command, file: Path) -> None:
    text = "queues: {a: {}, b.fifo: {attributes: {%s}}}"
    limit, apply = "FifoThroughputLimit: perMessageGroupId", ("apply", "-f", str(file), "--yes")
    file.write_text(text % limit)
    penstock(*apply, error="(queues.b.fifo.attributes.FifoThroughputLimit)")
    assert "b.fifo" not in penstock("queues", "--json")
    file.write_text(text % "DeduplicationScope: messageGroup")
    penstock(*apply)
    file.write_text(text % limit)
    penstock(*apply)


def test_missing_queues_are_named_beside_other_mistakes(penstock: Command, file: Path) -> None:
    """The command requests from the service only the queues with the missing names. If the service does not respond,
    the command does not report a name as a mistake.
    """
    file.write_text(MISSING.replace("1h", "1y"))
    for said in (f"{file}:9: ", "has the queue 'm1'", "has the queue 'm2'", "has the queue 'm3'", "has the queue 'm4'"):
        penstock("apply", "-f", str(file), error=said)


def test_a_name_cannot_hide_lines_of_the_plan(penstock: Command, tmp_path: Path) -> None:
    file = tmp_path / "penstock.yaml"
    shown = '"\\e]0;pwned\\a\\e[2A"'
    file.write_text(f"queues: {{q: {{}}}}\nusers: {{}}\ntopics: {{t: {{tags: {{a: {shown}}}}}}}\n")
    printed = penstock("apply", "-f", str(file), "--dry-run")
    assert all(sign.isprintable() or sign == "\n" for sign in printed), printed
    assert "]0;pwned" in printed


def test_an_error_cannot_hide_lines_either(dsn: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del dsn
    file = tmp_path / "penstock.yaml"
    file.write_text('schedules: {s: {every: 1h, target: {queue: "q\\e[2K", message: 1}}}\n')
    assert main(["apply", "-f", str(file), "--dry-run"]) == 1
    printed = capsys.readouterr().err
    assert all(sign.isprintable() or sign == "\n" for sign in printed), printed
    assert "[2K" in printed
