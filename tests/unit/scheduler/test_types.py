"""Compares message types, limits, routes and errors with botocore's model of EventBridge Scheduler.

Also tests which names a sync over the REST API reads.
"""

import json
from functools import cache
from typing import Any, cast

import botocore.session
import pytest
from msgspec import Struct

from penstock.access.receipt_handle import ReceiptHandles
from penstock.access.users import build_user
from penstock.actions import ACTIONS, BY_ROUTE, SERVICES, AnyAction
from penstock.aws.codec.schema import Limits, List, Map, Member, Scalar, Shape, Structure, read_structure
from penstock.context import Context
from penstock.effects import Call
from penstock.environment import Environment
from penstock.errors import AccessDenied
from penstock.http import HttpRequest
from penstock.management.schedules.operations import check_pruned
from penstock.postgres.statements.schedules import LIST_PRUNABLE_SCHEDULES, PrunableScheduleRow
from penstock.scheduler import errors as errors_scheduler
from penstock.scheduler.errors import SchedulerError
from penstock.scheduler.types import Target
from penstock.settings import Settings

SCALARS = {"string": str, "integer": int, "timestamp": float}
# Penstock ignores the parameters of unsupported targets.
NOT_SERVED = {"EcsParameters", "EventBridgeParameters", "KinesisParameters", "SageMakerPipelineParameters"}
ROWS = [pytest.param(action, id=action.name) for action in ACTIONS if action.service == "scheduler"]


@cache
def model() -> Any:
    return botocore.session.get_session().get_service_model("scheduler")


def limits_of(theirs: Any) -> Limits:
    stated = theirs.metadata
    return Limits(stated.get("min"), stated.get("max"), stated.get("pattern"), tuple(sorted(stated.get("enum", ()))))


def members(ours: Structure, theirs: Any, *, judges_limits: bool) -> None:
    assert {member.name for member in ours.members} == set(theirs.members)
    assert {member.name for member in ours.members if member.required} == set(theirs.required_members)
    for member in ours.members:
        same(member.shape, theirs.members[member.name], judges_limits=judges_limits)


def same(ours: Shape, theirs: Any, *, judges_limits: bool) -> None:
    match ours:
        case Scalar(kind) if kind is object:
            assert theirs.name in NOT_SERVED
        case Scalar(kind, limits):
            assert kind is SCALARS[theirs.type_name]
            assert not judges_limits or limits == limits_of(theirs)
        case List(item, limits=limits):
            assert theirs.type_name == "list"
            assert not judges_limits or limits == limits_of(theirs)
            same(item, theirs.member, judges_limits=judges_limits)
        case Structure():
            members(ours, theirs, judges_limits=judges_limits)
        case Map(value, limits=limits, key_limits=key_limits):
            assert not judges_limits or (limits, key_limits) == (limits_of(theirs), limits_of(theirs.key))
            same(value, theirs.value, judges_limits=judges_limits)


def place(member: Member, theirs: Any) -> None:
    """Checks the place of a member: in the path, in the query string under the same name, or in the body."""
    location = theirs.serialization.get("location")
    if location is None:
        assert member.location is None
    else:
        assert member.location is not None
        assert {"uri": "path", "querystring": "query"}[location] == member.location.where
        assert member.location.name in {"", theirs.serialization["name"]}
        assert (member.location.name == "") == (location == "uri")


def test_every_action_is_there() -> None:
    names = {action.name for action in ACTIONS if action.service == "scheduler"}
    assert names == set(model().operation_names)
    assert SERVICES["scheduler"].version == model().metadata["apiVersion"]


@pytest.mark.parametrize("action", ROWS)
def test_each_action_has_the_route_of_the_model(action: AnyAction) -> None:
    stated = model().operation_model(action.name).http
    assert action.route == f"{stated['method']} {stated['requestUri']}"
    assert stated["responseCode"] == 200
    assert action in BY_ROUTE.values()


@pytest.mark.parametrize("action", ROWS)
def test_each_request_has_the_members_of_the_model(action: AnyAction) -> None:
    theirs = model().operation_model(action.name).input_shape
    ours = read_structure(action.request)
    members(ours, theirs, judges_limits=True)
    for member in ours.members:
        place(member, theirs.members[member.name])


@pytest.mark.parametrize("action", ROWS)
def test_each_result_has_the_members_of_the_model(action: AnyAction) -> None:
    """The body of a result without members is empty, as in the API reference."""
    theirs = model().operation_model(action.name).output_shape
    assert (action.result is None) == (not theirs.members)
    if action.result is not None:
        members(read_structure(cast("type[Struct]", action.result)), theirs, judges_limits=False)


def test_only_members_of_the_target_are_not_served() -> None:
    unread = {m.name for m in read_structure(Target).members if m.shape == Scalar(object)}
    assert unread == NOT_SERVED


def test_each_error_has_the_status_of_the_model() -> None:
    stated = {shape.name: shape.metadata["error"]["httpStatusCode"] for shape in model().error_shapes}
    ours = {
        kind.json_type: kind.status
        for kind in vars(errors_scheduler).values()
        if isinstance(kind, type) and issubclass(kind, SchedulerError) and kind is not SchedulerError
    }
    assert ours == stated


# --- synchronising ---------------------------------------------------------------------------------------------------
def test_a_sync_reads_the_names_that_it_may_delete_in_pages() -> None:
    environment = Environment(Settings.read({}), ReceiptHandles(b"k" * 32))
    context = Context("000000000000", "us-east-1", "", environment, HttpRequest("POST", "/", b"", {}, b""))
    own = {"Effect": "Allow", "Action": "scheduler:DeleteSchedule", "Resource": "*/default/own-*"}
    context.user = build_user("000000000000", "ann", [json.dumps({"Statement": own})])
    checking = check_pruned({"kept"}, context)
    place = ("000000000000", "us-east-1")
    assert next(checking) == Call(LIST_PRUNABLE_SCHEDULES, (*place, "", 1_000))
    page = [PrunableScheduleRow(f"own-{number:03}") for number in range(1_000)]
    assert checking.send(page) == Call(LIST_PRUNABLE_SCHEDULES, (*place, "own-999", 1_000))
    with pytest.raises(AccessDenied, match="schedule/default/other"):
        checking.send([PrunableScheduleRow("kept"), PrunableScheduleRow("other")])
