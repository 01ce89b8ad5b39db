"""Evaluates the expressions of subscribers before their events are sent.

A step gives expressions a limited time, because it holds the cursor of the whole bus. The subscribers whose events were
the cheapest in the last step come first, so a subscriber with slow expressions delays only its own events.
"""

from collections.abc import Callable, Collection, Sequence
from time import monotonic
from typing import Final

from msgspec.structs import replace

from penstock.events.expressions.evaluator import Evaluator, ExpressionsUnavailableError
from penstock.events.expressions.protocol import Response
from penstock.events.expressions.syntax import TransformationError, check_result, fill_in, find_source, read_text

from .event import Event
from .subscriber import INTERNAL_ERROR, NOT_TRANSFORMED, Refusal, Shipment, Subscriber

STEP_SECONDS: Final = 5.0
"""The time of all expressions of a step. No subscriber's expressions begin later."""
SUBSCRIBER_SECONDS: Final = 1.0
"""The processor time of a subscriber's expressions in a step. An evaluation that has begun can take a second longer."""
STEP_BYTES: Final = 32 << 20
"""The most bytes of the results of a step."""
KEPT_COSTS: Final = 20_000
POSTPONED: Final = Refusal(NOT_TRANSFORMED, "The expressions of this subscriber take too much time.")
"""Puts an event off, without counting an attempt."""


class Transformation:
    """The evaluator of a process, and what the events of each subscriber cost in the last step."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._evaluator = Evaluator()
        self._clock = clock
        self._costs: dict[int, float] = {}

    def transform(
        self, shipments: Sequence[Shipment], held: Collection[int]
    ) -> tuple[list[Shipment], dict[int, Refusal]]:
        """Returns the shipments with the results of their expressions, and the refusals by place. Shipments in `held`
        are not evaluated."""
        transformed, refusals = list(shipments), {}
        by_subscriber: dict[int, list[int]] = {}
        for place, (subscriber, _) in enumerate(shipments):
            if subscriber.sources and place not in held:
                by_subscriber.setdefault(subscriber.subscriber_id, []).append(place)
        if not by_subscriber:
            return transformed, {}
        left, deadline = STEP_BYTES, self._clock() + STEP_SECONDS
        for number, places in sorted(by_subscriber.items(), key=lambda item: self._costs.get(item[0], 0.0)):
            started = self._clock()
            seconds = SUBSCRIBER_SECONDS if started < deadline else 0.0
            found = self._evaluate([shipments[place] for place in places], seconds, left)
            if found:
                self._note_cost(number, (self._clock() - started) / len(found))
            for place, result in zip(places, [*found, *[POSTPONED] * (len(places) - len(found))], strict=True):
                if isinstance(result, Refusal):
                    refusals[place] = result
                else:
                    left -= len(result.result or "")
                    transformed[place] = Shipment(result, shipments[place].event)
        return transformed, refusals

    def build_inputs(
        self, subscriber: Subscriber, batches: Sequence[Sequence[Event]], deadline: float = float("inf")
    ) -> list[str | Refusal]:
        """Returns the input of a universal target for each batch, whose events are an array. No evaluation begins after
        `deadline`, a time of the clock."""
        text = str(subscriber.parameters["Input"])
        source = find_source(text)
        if source is None:
            return [text] * len(batches)
        seconds = SUBSCRIBER_SECONDS if self._clock() < deadline else 0.0
        documents = [
            b"[%b]" % b",".join(event.build_document(subscriber.interval.name_delivery_type(event)) for event in batch)
            for batch in batches
        ]
        try:
            responses = self._evaluator.evaluate([source], documents, seconds, STEP_BYTES)
        except ExpressionsUnavailableError as error:
            return [Refusal(INTERNAL_ERROR, str(error))] * len(batches)
        return [*map(_read_input, responses), *[POSTPONED] * (len(batches) - len(responses))]

    def _evaluate(self, shipments: Sequence[Shipment], seconds: float, max_bytes: int) -> list[Subscriber | Refusal]:
        """Returns for each shipment of one subscriber, from the first one, the subscriber with the results or the
        refusal."""
        subscriber = shipments[0].subscriber
        if seconds <= 0 or max_bytes <= 0:
            return []
        documents = [event.build_document(subscriber.interval.name_delivery_type(event)) for _, event in shipments]
        try:
            responses = self._evaluator.evaluate(subscriber.sources, documents, seconds, max_bytes)
        except ExpressionsUnavailableError as error:
            return [Refusal(INTERNAL_ERROR, str(error))] * len(shipments)
        return [apply(subscriber, response) for response in responses]

    def _note_cost(self, number: int, seconds: float) -> None:
        if len(self._costs) >= KEPT_COSTS:
            self._costs.clear()
        self._costs[number] = seconds


def _read_input(response: Response) -> str | Refusal:
    if response.error is not None:
        return Refusal(NOT_TRANSFORMED, response.error)
    try:
        return read_text(check_result(response.results[0]))
    except TransformationError as error:
        return Refusal(NOT_TRANSFORMED, str(error))


def apply(subscriber: Subscriber, response: Response) -> Subscriber | Refusal:
    """Returns the subscriber for one event, whose parameters and result are those of the event."""
    if response.error is not None:
        return Refusal(NOT_TRANSFORMED, response.error)
    results = dict(zip(subscriber.sources, response.results, strict=True))
    try:
        parameters = fill_in(subscriber.parameters, results)
        result = None if subscriber.transformer is None else check_result(results[subscriber.transformer])
    except TransformationError as error:
        return Refusal(NOT_TRANSFORMED, str(error))
    return replace(subscriber, parameters=parameters, result=result)
