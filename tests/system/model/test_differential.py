"""Compares JSON and Query: random valid and invalid requests for every action have the same results in both protocols.

`make test-slow ARGS="tests/system/model -s"` compares 5,000 requests. MODEL_REQUESTS changes the number, and MODEL_SEED
the seed.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from itertools import count
from time import monotonic, time

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.support.conformance.database_clock import Clock
from tests.support.conformance.deployments import Deployments
from tests.support.conformance.sdk_clients import build_client
from tests.support.model.differential import Pair, Side
from tests.support.model.machine import SqsMachine
from tests.support.model.requests import Act, acts
from tests.support.model.side_by_side import ServiceUnderTest

SLOW_REQUESTS = int(os.environ.get("MODEL_REQUESTS", "5000"))
# Each queue has one writer, so a standard queue keeps its order, and both sides receive the same messages.
ONE_LANE = {"QUEUE_SHARDS": "1"}
ACCOUNTS = {"json": "111111111111", "query": "222222222222"}

_numbers = count(1)

CAREFULLY = settings(
    deadline=None,
    database=None,
    print_blob=False,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(params=["container", "lambda"])
def pair(request: pytest.FixtureRequest, deployments: Deployments, clock: Clock) -> Callable[[], Pair]:
    """Returns both sides of a deployment with new queues."""
    url = deployments.endpoint_url(request.param, ONE_LANE)
    clients = {name: build_client(name, url, account, validates=False) for name, account in ACCOUNTS.items()}

    def new() -> Pair:
        prefix = f"d{next(_numbers)}-"
        json, query = (Side(name, ACCOUNTS[name], prefix, *clients[name]) for name in ACCOUNTS)
        return Pair(json, query, clock)

    return new


def play(new: Callable[[], Pair], examples: int, number: int) -> int:
    """Plays random requests. Returns the number of compared requests."""
    requests = 0

    @seed(number)
    @settings(CAREFULLY, max_examples=examples)
    @given(drawn=acts)
    def run(drawn: list[Act]) -> None:
        nonlocal requests
        both = new()
        both.open()
        for act in drawn:
            both.play(act)
        both.close()
        requests += both.requests

    run()
    return requests


def test_both_protocols_do_the_same(pair: Callable[[], Pair]) -> None:
    assert play(pair, 5, 7) > 100


@pytest.mark.slow
def test_many_requests(pair: Callable[[], Pair]) -> None:
    number = int(os.environ.get("MODEL_SEED") or random.SystemRandom().randrange(2**32))
    began, requests = time(), 0
    sys.stdout.write(f"\nseed {number}\n")
    while requests < SLOW_REQUESTS:
        requests += play(pair, 20, number)
        number += 1
    sys.stdout.write(f"{requests} requests compared, {time() - began:.0f} s\n")


# --- model -----------------------------------------------------------------------------------------------------------
# Compares the service with its model: random sequences of requests over both protocols, in each deployment.
#
# `make test-slow ARGS="tests/system/model -s"` runs 20,000 steps. MODEL_STEPS and MODEL_SEED change the number and the
# seed.


SLOW_STEPS = int(os.environ.get("MODEL_STEPS", "20000"))
LENGTH = 100

CAREFUL_MODEL = settings(
    deadline=None,
    database=None,
    print_blob=False,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
    stateful_step_count=LENGTH,
)


def play_model(service: ServiceUnderTest, examples: int, number: int) -> int:
    """Runs examples with at most LENGTH steps. Returns the number of steps."""

    class Machine(SqsMachine):
        pass

    Machine.service = service
    seed(number)(Machine)
    try:
        run_state_machine_as_test(Machine, settings=settings(CAREFUL_MODEL, max_examples=examples))
    except BaseException as error:
        error.add_note(f"The first failure of seed {number}, at its end:\n{Machine.first_failure}")
        raise
    return Machine.steps


@pytest.mark.parametrize(("deployment", "examples"), [("container", 4), ("lambda", 2)])
def test_the_service_is_like_its_model(
    service: Callable[[str], ServiceUnderTest], deployment: str, examples: int
) -> None:
    assert play_model(service(deployment), examples, 3) >= 100 * examples // 2


@pytest.mark.slow
@pytest.mark.parametrize(("deployment", "share"), [("container", 1), ("lambda", 0.1)])
def test_many_steps(service: Callable[[str], ServiceUnderTest], deployment: str, share: float) -> None:
    """The test runs as many examples as the steps need. Hypothesis ends an example early after many draws."""
    number = int(os.environ.get("MODEL_SEED") or random.SystemRandom().randrange(2**32))
    behind, began, steps = service(deployment), monotonic(), 0
    sys.stdout.write(f"\n{deployment}: seed {number}\n")
    while steps < SLOW_STEPS * share:
        steps += play_model(behind, 20, number)
        number += 1
    sys.stdout.write(f"{deployment}: {steps} steps, {behind.requests} requests, {monotonic() - began:.0f} s\n")
