"""Builds the texts of a batch's events for targets outside the database, and splits them into requests."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from .batches import Batch
from .subscriber import NOT_TRANSFORMED, Refusal, Result, Shipment
from .transformation import Transformation

NOT_TEXT: Final = Refusal(NOT_TRANSFORMED, "The payload is not UTF-8.")


class Payload(NamedTuple):
    """The JSON of an event, and the parameters of its target with the results of their expressions."""

    text: str
    parameters: Mapping[str, object]


async def build_payloads(transformation: Transformation, batch: Batch) -> list[Payload | Refusal]:
    """Returns the payload of each event, or the refusal of an event whose expressions have failed."""
    shipments, failed = [Shipment(batch.subscriber, event) for event in batch.events], dict[int, Refusal]()
    if batch.subscriber.sources:
        shipments, failed = await asyncio.to_thread(transformation.transform, shipments, ())
    return [failed.get(place) or _build_payload(shipment) for place, shipment in enumerate(shipments)]


def _build_payload(shipment: Shipment) -> Payload | Refusal:
    try:
        return Payload(shipment.subscriber.build_json(shipment.event), shipment.subscriber.parameters)
    except UnicodeDecodeError:
        return NOT_TEXT


def join(texts: Sequence[str], batch: Batch) -> str:
    """Returns the payload of a request: an array, or the event if MaxBatchSize is 1."""
    return texts[0] if batch.subscriber.batch_size == 1 else f"[{','.join(texts)}]"


def list_ready(batch: Batch, places: Sequence[int], results: Sequence[Result]) -> list[int]:
    """Returns the places without the events of a FIFO subscriber that follow a refused one of their group. `results`
    has the results until now."""
    if not batch.subscriber.is_fifo:
        return list(places)
    ready, stopped = [], set[str]()
    for place, event in enumerate(batch.events):
        if place in places and event.group_key not in stopped:
            ready.append(place)
        elif event.group_key is not None and isinstance(results[place], Refusal):
            stopped.add(event.group_key)
    return ready


def split_payloads(payloads: Sequence[Payload | Refusal], most: int) -> list[list[int]]:
    """Returns the places of the payloads by request, without refusals. The payloads of a request follow each other, and
    have the same parameters. If they are several, they have at most `most` bytes."""
    parts: list[list[int]] = []
    size = 0
    parameters: Mapping[str, object] | None = None
    for place, payload in enumerate(payloads):
        if isinstance(payload, Refusal):
            continue
        length = len(payload.text.encode()) + 1
        if not parts or size + length > most or payload.parameters != parameters:
            parts.append([])
            size = 2
        parts[-1].append(place)
        size += length
        parameters = payload.parameters
    return parts
