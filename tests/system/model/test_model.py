"""The service is like its model: random requests in a row, over both protocols, in each deployment.

`make test-slow ARGS="tests/system/model -s"` runs 20,000 steps; MODEL_STEPS and MODEL_SEED change how many and which.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from time import monotonic

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.support.model.machine import SqsMachine
from tests.support.model.service import Service

SLOW_STEPS = int(os.environ.get("MODEL_STEPS", "20000"))
LENGTH = 100

CAREFULLY = settings(
    deadline=None,
    database=None,
    print_blob=False,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
    stateful_step_count=LENGTH,
)


def play(service: Service, examples: int, number: int) -> int:
    """Examples of at most LENGTH steps; the number of steps."""

    class Machine(SqsMachine):
        pass

    Machine.service = service
    seed(number)(Machine)
    try:
        run_state_machine_as_test(Machine, settings=settings(CAREFULLY, max_examples=examples))
    except BaseException as error:
        error.add_note(f"The first failure of seed {number}, at its end:\n{Machine.first_failure}")
        raise
    return Machine.steps


@pytest.mark.parametrize(("deployment", "examples"), [("container", 4), ("lambda", 2)])
def test_the_service_is_like_its_model(
    service: Callable[[str], Service], deployment: str, examples: int
) -> None:
    assert play(service(deployment), examples, 3) >= 100 * examples // 2


@pytest.mark.slow
@pytest.mark.parametrize(("deployment", "share"), [("container", 1), ("lambda", 0.1)])
def test_many_steps(service: Callable[[str], Service], deployment: str, share: float) -> None:
    """As many examples as it takes; Hypothesis ends one early when it has drawn much."""
    number = int(os.environ.get("MODEL_SEED") or random.SystemRandom().randrange(2**32))
    behind, began, steps = service(deployment), monotonic(), 0
    sys.stdout.write(f"\n{deployment}: seed {number}\n")
    while steps < SLOW_STEPS * share:
        steps += play(behind, 20, number)
        number += 1
    sys.stdout.write(
        f"{deployment}: {steps} steps, {behind.requests} requests, {monotonic() - began:.0f} s\n"
    )
