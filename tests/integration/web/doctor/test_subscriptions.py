"""`penstock doctor` and subscriptions that deliver to queues of other accounts."""

from __future__ import annotations

import json

import psycopg
import pytest

from penstock_web.cli import main
from tests.support.conformance.access_keys import SIGV4
from tests.support.database import Database

OWNER, PARTNER = "000000000000", "111122223333"
TOPIC = f"arn:aws:sns:us-east-1:{PARTNER}:news"
SUBSCRIBE = """select arn from queue.add_subscription(
    %s, gen_random_uuid(), %s, 'sqs', %s, %s, null, null, null, 0, 0, null, null)"""
CREATE = (
    "select arn from queue.create_queue(%s, 'us-east-1', %s, %s, queue.default_attributes(false), '{}', 1, 0)"
)
SUBSCRIPTIONS = "select arn, target_allowed, dead_letter_queue_allowed from queue.subscription"


def arn_of(row: tuple[str, ...] | None) -> str:
    assert row
    return row[0]


def test_subscriptions_that_nobody_allows(
    database: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    statement = {
        "Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage",
        "Resource": "*", "Condition": {"ArnEquals": {"aws:SourceArn": TOPIC}},
    }  # fmt: skip
    policies = {"allowed": {"Policy": json.dumps({"Statement": [statement]})}, "refused": {}, "unasked": {}}
    with psycopg.connect(database.dsn, autocommit=True) as sql:
        sql.execute(
            "select queue.create_topic(%s, 'us-east-1', 'news', '{}'::jsonb, '{}'::jsonb)", (PARTNER,)
        )
        queues = {
            name: arn_of(sql.execute(CREATE, (OWNER, name, json.dumps(attributes))).fetchone())
            for name, attributes in policies.items()
        }
        own = arn_of(sql.execute(CREATE, (PARTNER, "own", "{}")).fetchone())
        redrive = json.dumps({"RedrivePolicy": json.dumps({"deadLetterTargetArn": queues["unasked"]})})
        kept = [
            arn_of(sql.execute(SUBSCRIBE, (TOPIC, PARTNER, queue, attributes)).fetchone())
            for queue, attributes in ((queues["allowed"], "{}"), (own, redrive))
        ]
        ended = arn_of(sql.execute(SUBSCRIBE, (TOPIC, PARTNER, queues["refused"], "{}")).fetchone())

        for name, value in {
            "DATABASE_URL": database.api_dsn,
            "DATABASE_DIRECT_URL": database.api_dsn,
        }.items():
            monkeypatch.setenv(name, value)
        main(["doctor"])  # accounts are not known, so policies mean nothing
        assert "whose policy" not in capsys.readouterr().out
        for name, value in SIGV4.items():
            monkeypatch.setenv(name, value)
        capsys.readouterr()
        for arguments, suffix in ((["doctor"], ""), (["doctor", "--fix"], ": ended")):
            assert main(arguments) == 1
            lines = capsys.readouterr().out.splitlines()
            assert [line for line in lines if line.startswith("arn:")] == [
                f"{ended}: sends messages to the queue {queues['refused']}, whose policy does not allow it{suffix}",
                f"{kept[1]}: sends dead letters to the queue {queues['unasked']}, whose policy does not allow it"
                + suffix,
            ]
        main(["doctor"])
        assert "whose policy" not in capsys.readouterr().out
        assert sorted(sql.execute(SUBSCRIPTIONS).fetchall()) == sorted(
            [(kept[0], True, True), (kept[1], True, False)]
        )
