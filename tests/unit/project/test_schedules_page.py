"""docs/schedules.md lists actions and errors of EventBridge Scheduler, and routes and members of the REST API."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec.structs import fields

from penstock.actions import ACTIONS
from penstock.scheduler import errors as errors_scheduler
from penstock.scheduler.errors import COMMON, SchedulerError
from penstock_web.rest.schedules.documents import NewSchedule, ShownSchedule
from penstock_web.rest.schedules.routes import router

PAGE = (Path(__file__).parents[3] / "docs/schedules.md").read_text()
REST, _, AWS = PAGE.partition("\n## REST API\n")[2].partition("\n## EventBridge Scheduler\n")


def test_the_actions() -> None:
    listed = re.findall(r"\| `([A-Z]\w+)` (?=\|)", AWS)
    actions = {action.name for action in ACTIONS if action.service == "scheduler"}
    assert {name for name in listed if not name.endswith(("Arn", "Token"))} == actions


def test_the_errors() -> None:
    ours = {kind.json_type: kind.status for kind in SchedulerError.__subclasses__()}
    rows = re.findall(r"^\| (\w+) \| (\d+) \|", AWS, re.MULTILINE)
    assert {name: int(status) for name, status in rows}.items() >= (
        ours.items() - {("InternalServerException", 500)}
    )
    assert "InternalServerException" in vars(errors_scheduler)
    named = set(re.findall(r"\b\w+Exception\b", AWS))
    assert named <= {*ours, *COMMON.values(), "SerializationException"}


def test_the_routes() -> None:
    routes = {(method, f"/v1{route.path}") for route in router.routes for method in route.methods}  # type: ignore[attr-defined]
    listed = re.findall(r"^\| `([A-Z]+) (/v1/[^`?]+)", REST, re.MULTILINE)
    assert set(listed) == routes


def test_the_members() -> None:
    named = set(re.findall(r"`([a-z_]+)`", REST))
    assert {field.name for field in fields(NewSchedule)} <= named
    assert {field.name for field in fields(ShownSchedule)} - {"rate"} <= named
