"""Runs the table of cases (tests/support/cases) and compares each response with AWS's response.

A case runs at one endpoint in each of its protocols, and every twentieth case runs at all endpoints. Each test covers
one action and reports all differences in its cases. `make cases` prints the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import NamedTuple

import pytest

from penstock.actions import ACTIONS
from tests.support.cases.case import Case, changed, members_of
from tests.support.cases.endpoints import Endpoint, Received
from tests.support.cases.resources import Resources
from tests.support.cases.scheduler.members import WITHOUT as OTHER_TARGETS
from tests.support.cases.table import BY_ACTION, EVERYWHERE, USUAL, status_of
from tests.support.conformance.access_keys import SIGV4
from tests.support.conformance.deployments import DEFAULT, Deployments

PROTOCOLS = {"sqs": ("json", "query"), "sns": ("query", "json"), "scheduler": ("rest",)}
DEPLOYMENTS = ("container", "lambda")


class Endpoints(NamedTuple):
    """The endpoints. `usual` does not check access, and `signed` accepts only signed requests."""

    usual: dict[tuple[str, str], Endpoint]
    signed: dict[str, Endpoint]
    resources: Resources


@pytest.fixture(scope="session")
def endpoints(deployments: Deployments) -> Iterator[Endpoints]:
    with ExitStack() as stack:
        protocols = ("json", "query", "rest")

        def opened(deployment: str, protocol: str, settings: dict[str, str]) -> Endpoint:
            url = deployments.endpoint_url(deployment, settings)
            return stack.enter_context(closing(Endpoint(deployment, protocol, url)))

        usual = {
            (deployment, protocol): opened(deployment, protocol, dict(DEFAULT))
            for deployment in DEPLOYMENTS
            for protocol in protocols
        }
        signed = {protocol: opened("lambda", protocol, SIGV4) for protocol in protocols}
        yield Endpoints(usual, signed, Resources(usual["container", "json"], usual["container", "rest"]))


def places(case: Case, everywhere: bool) -> list[tuple[str, str]]:
    """Returns the endpoints of a case: the container in the first protocol and Lambda in the second, or all
    endpoints."""
    protocols = [protocol for protocol in PROTOCOLS[case.service] if case.only in ("", protocol)]
    if everywhere:
        return [(deployment, protocol) for protocol in protocols for deployment in DEPLOYMENTS]
    return [(DEPLOYMENTS[PROTOCOLS[case.service].index(protocol)], protocol) for protocol in protocols]


def difference(case: Case, expected_text: str | None, response: Received) -> str:
    """Returns the difference from the expected response, or an empty string."""
    code = case.expected.code
    if (response.status, response.code) != (status_of(case), code):
        return f"{status_of(case)} {code or 'OK'} expected, {response.status} {response.code} {response.text[:300]}"
    if expected_text is not None and parts(response.text) != parts(expected_text):
        return f"text {expected_text!r} expected, {response.text[:600]!r}"
    return ""


def parts(text: str) -> list[str]:
    """Returns the text, or the violations in it, with the values of enumerations sorted, because AWS defines no
    order.
    """
    head, found, rest = text.partition(" detected: Value ")
    return [head, *sorted(map(_ordered, rest.split("; Value ")))] if found else [text]


def _ordered(violation: str) -> str:
    head, found, values = violation.partition("enum value set: [")
    return head + found + ", ".join(sorted(values.removesuffix("]").split(", ")))


def ran(case: Case, endpoint: Endpoint, resources: Resources) -> str:
    """Returns the difference between a case's response at one endpoint and AWS's response."""
    members = changed(USUAL[case.service][case.action], case.given)
    document = resources.filled_in({"members": members, "form": list(case.form), "text": case.expected.text})
    form = tuple((name, value) for name, value in document["form"])
    response = endpoint.call(case.service, case.action, document["members"], form, signed=not case.unsigned)
    found = difference(case, document["text"], response)
    return found and f"{case.action} {case.parameter}: {case.case} ({endpoint.name}; {case.source.title}): {found}"


def test_every_action_and_each_of_its_members_has_cases() -> None:
    """Members of structures also have cases. All targets of schedules that Penstock does not invoke share one case.
    tests/conformance/events has the tests of event buses, which clients reach only with CBOR."""
    assert BY_ACTION.keys() == {
        (action.service, action.name) for action in ACTIONS if action.service not in ("sts", "events")
    }
    for (service, action), cases in BY_ACTION.items():
        known = {case.parameter for case in cases}
        for member in members_of(service, action, without=OTHER_TARGETS):
            name = member.path.replace("/0/", ".N.").replace("/", ".")
            assert name in known or name.endswith("ListValues"), (action, name)


@pytest.mark.parametrize("action", BY_ACTION, ids=".".join)
def test_the_responses_of(action: tuple[str, str], endpoints: Endpoints) -> None:
    differences = []
    for case in BY_ACTION[action]:
        for place in places(case, case in EVERYWHERE):
            endpoint = endpoints.signed[place[1]] if case.unsigned else endpoints.usual[place]
            differences.append(ran(case, endpoint, endpoints.resources))
    told = [difference for difference in differences if difference]
    if told:
        pytest.fail(f"{len(told)} of {len(differences)} differ:\n" + "\n".join(told), pytrace=False)
