"""Tests how a step shares the time for expressions between subscribers. The page
docs/reference/event_bus_subscribers.md has the rules, which are our choice."""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from penstock.events.delivery.event import ContentType, Event
from penstock.events.delivery.subscriber import Shipment, Subscriber
from penstock.events.delivery.transformation import POSTPONED, STEP_SECONDS, Transformation
from penstock.events.expressions.protocol import Response
from penstock.events.shapes import RetryPolicy

NOW = datetime.now(UTC)
EVENT = Event(1, NOW, uuid4(), ContentType.JSON, b"1")


class Evaluator:
    """Takes the seconds of an expression from its text. Responses one event after the time is over, and all before."""

    def __init__(self) -> None:
        self.now = 0.0
        self.order: list[str] = []

    def evaluate(
        self, sources: Sequence[str], documents: Sequence[bytes], seconds: float, _bytes: int
    ) -> list[Response]:
        self.order.append(sources[0])
        count = 0
        end = self.now + seconds
        while count < len(documents) and self.now < end:
            self.now += float(sources[0])
            count += 1
        return [Response(['"x"'])] * count


def ship(number: int, source: str | None, count: int) -> list[Shipment]:
    subscriber = Subscriber(
        subscriber_id=number,
        arn="",
        bus_arn="",
        account_id="",
        region="",
        target_arn="arn:aws:sqs:us-east-1:000000000000:q",
        with_metadata=False,
        retries=RetryPolicy(),
        transformer=source,
        sources=() if source is None else (source,),
    )
    return [Shipment(subscriber, EVENT)] * count


@pytest.fixture
def evaluator() -> Evaluator:
    return Evaluator()


@pytest.fixture
def transformation(evaluator: Evaluator, monkeypatch: pytest.MonkeyPatch) -> Transformation:
    transformation = Transformation(lambda: evaluator.now)
    monkeypatch.setattr(transformation, "_evaluator", evaluator)
    return transformation


def test_the_cheapest_subscribers_come_first_in_the_next_step(
    evaluator: Evaluator, transformation: Transformation
) -> None:
    shipments = [*ship(1, "0.9", 3), *ship(2, "0.001", 3), *ship(3, "0.1", 3)]
    for _ in range(2):
        evaluator.order.clear()
        _, refusals = transformation.transform(shipments, ())
        assert refusals == {2: POSTPONED}
    assert evaluator.order == ["0.001", "0.1", "0.9"]


def test_slow_subscribers_together_have_the_time_of_a_step(
    evaluator: Evaluator, transformation: Transformation
) -> None:
    shipments = [shipment for number in range(10) for shipment in ship(number, "1.0", 2)]
    _, refusals = transformation.transform(shipments, ())
    assert len(shipments) - len(refusals) == STEP_SECONDS
    assert evaluator.now == STEP_SECONDS


def test_other_shipments_stay_as_they_are(evaluator: Evaluator, transformation: Transformation) -> None:
    plain, held, changed = *ship(1, None, 1), *ship(2, "0.1", 1), *ship(3, "0.1", 1)
    found, refusals = transformation.transform([plain, held, changed], {1})
    assert (found[:2], refusals) == ([plain, held], {})
    assert [shipment.subscriber.build_text(EVENT) for shipment in found] == ["1", "1", "x"]
    assert found[2].subscriber.build_json(EVENT) == '"x"'
    assert changed.subscriber.result is None
    assert evaluator.order == ["0.1"]
