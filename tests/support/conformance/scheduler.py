"""Calls EventBridge Scheduler with the deployment and caller of an `Sqs`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any

from botocore.exceptions import ClientError

from tests.support.conformance.sdk_clients import ACCOUNT, REGION, Response, build_client
from tests.support.conformance.sqs import Refusal, Sqs, read_refusal

_client = cache(build_client)
_numbers = count(1)

ROLE = f"arn:aws:iam::{ACCOUNT}:role/service-role/scheduler"
OFF = {"Mode": "OFF"}


@dataclass
class Scheduler:
    sqs: Sqs

    @property
    def client(self) -> Any:
        return self._made()[0]

    @property
    def response(self) -> Response:
        last: Response = self._made()[1]
        return last

    def _made(self, *, validates: bool = True) -> Any:
        at = self.sqs
        place = at.endpoint_url, at.account, at.region, at.secret
        return _client(self.protocol, *place, "scheduler", validates=validates)

    @property
    def protocol(self) -> str:
        return "cbor" if self.sqs.protocol == "cbor" else "rest-json"

    def other_deployment(self) -> Scheduler:
        deployment = "lambda" if self.sqs.deployment == "container" else "container"
        return Scheduler(Sqs(**{**self.sqs.__dict__, "deployment": deployment}))

    def of(self, sqs: Sqs) -> Scheduler:
        """Returns a client with the deployment and caller of `sqs`."""
        return Scheduler(sqs)

    # --- schedules and groups ----------------------------------------------------------------------------------------
    @staticmethod
    def name() -> str:
        """Returns an unused name."""
        return f"schedule_{next(_numbers)}.a-b"

    def queue_arn(self, name: str = "jobs") -> str:
        return f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"

    def given(self, **changes: Any) -> dict[str, Any]:
        """Returns the members of a schedule that fires in a year. The function omits members whose value is None.

        The target queue does not have to exist.
        """
        target = {"Arn": self.queue_arn(), "RoleArn": ROLE}
        members = {
            "Name": self.name(),
            "ScheduleExpression": "rate(365 days)",
            "FlexibleTimeWindow": OFF,
            "Target": target,
        }
        return {key: value for key, value in {**members, **changes}.items() if value is not None}

    def create(self, **changes: Any) -> str:
        """Creates a schedule and returns its name."""
        members = self.given(**changes)
        self.client.create_schedule(**members)
        return str(members["Name"])

    def get(self, name: str, **more: Any) -> dict[str, Any]:
        """Returns a schedule without ResponseMetadata."""
        found = dict(self.client.get_schedule(Name=name, **more))
        del found["ResponseMetadata"]
        return found

    def group(self, **more: Any) -> str:
        name = self.name()
        self.client.create_schedule_group(Name=name, **more)
        return name

    def tags(self, group: str) -> dict[str, str]:
        response = self.client.list_tags_for_resource(ResourceArn=self.group_arn(group))
        return {tag["Key"]: tag["Value"] for tag in response["Tags"]}

    def group_arn(self, name: str) -> str:
        return f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule-group/{name}"

    # --- errors ------------------------------------------------------------------------------------------------------
    def refusal(self, method: str, **parameters: Any) -> Refusal:
        """Makes a call without client-side validation, and returns its error. The call must fail without changing
        schedules.
        """
        client, response = self._made(validates=False)
        before = self.sqs.clock.schedules()
        try:
            given = getattr(client, method)(**parameters)
        except ClientError:
            assert self.sqs.clock.schedules() == before
            assert response.headers["x-amzn-requestid"]
            return read_refusal(self.protocol, response.status, response.headers, response.body)
        raise AssertionError(f"{method} was not refused: {given}")

    def refused(self, method: str, **parameters: Any) -> tuple[str, int]:
        told = self.refusal(method, **parameters)
        return told.code, told.status
