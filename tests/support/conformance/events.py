"""Calls the event bus with the deployment and caller of an `Sqs`, by boto3's client `eventbridgev2`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from itertools import count
from typing import Any

import pytest
from botocore.exceptions import ClientError
from psycopg import sql

from tests.support.conformance.sdk_clients import ACCOUNT, REGION, Response, build_client
from tests.support.conformance.sqs import Refusal, Sqs, read_refusal

_client = cache(build_client)
_numbers = count(1)

QUEUE = f"arn:aws:sqs:{REGION}:{ACCOUNT}:orders"


def build_role(account: str = ACCOUNT) -> str:
    return f"arn:aws:iam::{account}:role/bus"


@dataclass
class Events:
    sqs: Sqs

    @property
    def client(self) -> Any:
        return self._made(validates=True)[0]

    @property
    def account(self) -> str:
        return self.sqs.account if self.sqs.account.isdecimal() else ACCOUNT

    def _made(self, *, validates: bool) -> tuple[Any, Response]:
        at = self.sqs
        place = at.endpoint_url, at.account, at.region, at.secret
        return _client("cbor", *place, "eventbridgev2", validates=validates)

    def of(self, sqs: Sqs) -> Events:
        """Returns a client with the deployment and caller of `sqs`."""
        return Events(sqs)

    @staticmethod
    def name() -> str:
        """Returns an unused name."""
        return f"bus-{next(_numbers)}.a_b"

    def bus(self, **members: Any) -> str:
        """Creates a bus and returns its ARN."""
        return str(self.client.create_event_bus(**{"Name": self.name(), **members})["EventBusArn"])

    def given(self, bus: str, **members: Any) -> dict[str, Any]:
        """Returns the members of a subscriber that delivers to a queue. The function omits members whose value is
        None."""
        invoke = {"RoleArn": build_role(self.account), "TargetArn": QUEUE.replace(ACCOUNT, self.account)}
        usual = {"Name": self.name(), "EventBusArn": bus, "InvokeConfiguration": invoke}
        return {name: value for name, value in {**usual, **members}.items() if value is not None}

    def subscriber(self, bus: str, **members: Any) -> str:
        """Creates a subscriber and returns its ARN."""
        return str(self.client.create_subscriber(**self.given(bus, **members))["SubscriberArn"])

    def shown(self, subscriber: str) -> dict[str, Any]:
        """Returns a subscriber without ResponseMetadata."""
        found = dict(self.client.describe_subscriber(SubscriberArn=subscriber))
        del found["ResponseMetadata"]
        return found

    def source(self, bus: str) -> str:
        """Stores an event source, which no request can create, and returns its ARN."""
        name = self.name()
        arn = f"{bus.partition(':event-busv2')[0]}:event-sourcev2/webhook/{name}/{bus.rpartition('/')[2]}"
        self.sqs.clock.connection.execute(
            "insert into queue.event_source (bus_id, bus_arn, account_id, region, name, arn, type, configuration)"
            " select bus_id, arn, account_id, region, %s, %s, 'WEBHOOK_EVENTS', '{}'"
            " from queue.event_bus where arn = %s",
            (name, arn, bus),
        )
        return arn

    def advance(self, bus: str, **duration: float) -> None:
        """Moves the times of a bus and its subscribers into the past."""
        for table, columns in {
            "event_bus": ("created_at", "retained_since"),
            "event_subscriber": ("created_at",),
        }.items():
            for column in columns:
                self.sqs.clock.connection.execute(
                    sql.SQL(
                        "update queue.{0} set {1} = {1} - %s where %s in (arn, to_jsonb({0}) ->> 'bus_arn')"
                    ).format(sql.Identifier(table), sql.Identifier(column)),
                    (timedelta(**duration), bus),
                )

    def clear(self) -> None:
        """Deletes all buses, subscribers and event sources."""
        for table in ("event_bus", "event_subscriber", "event_source"):
            self.sqs.clock.connection.execute(sql.SQL("delete from queue.{}").format(sql.Identifier(table)))

    def refusal(self, action: str, **members: Any) -> Refusal:
        """Makes a call that must fail. botocore does not check the parameters."""
        client, response = self._made(validates=False)
        with pytest.raises(ClientError) as refused:
            getattr(client, action)(**members)
        assert response.headers is not None
        refusal = read_refusal("cbor", response.status, response.headers, response.body)
        assert refused.value.response["Error"]["Message"] == refusal.message
        return refusal

    def code(self, action: str, **members: Any) -> str:
        """Makes a call and returns the name of its error, or an empty text."""
        try:
            getattr(self.client, action)(**members)
        except ClientError as error:
            return str(error.response["Error"]["Code"])
        return ""

    def refused(self, action: str, **members: Any) -> tuple[str, int]:
        refusal = self.refusal(action, **members)
        return refusal.code, refusal.status
