"""Tests which events follow from the facts about a message, and which facts the life calls unknown."""

from penstock.management.messages.facts import Facts, find_unknown, list_events
from penstock.postgres.statements.message_life import LifeRow

HEAD = "arn:aws:sqs:us-east-1:000000000000:"
ORDERS, DEAD = f"{HEAD}orders", f"{HEAD}dead"


def received(arn: str, number: int) -> LifeRow:
    return LifeRow("received", 100 + number, arn, number, "caller", "agent", None)


def unknown(facts: Facts, *rows: LifeRow, shows_source: bool = True) -> list[str]:
    return list(find_unknown(DEAD, facts, rows, shows_source=shows_source))


def test_a_dead_letter_from_a_queue_without_a_history() -> None:
    letter = Facts(
        "id", 1, source_arn=ORDERS, state="visible", sent_ms=1, entered_ms=9, entered_by="dead_lettered", receives=0,
        total_earlier=3, first_earlier_ms=2, source_keeps_history=False,
    )  # fmt: skip
    assert letter.count_receives() == 3
    assert letter.last_known_receive([2]) is None
    assert unknown(letter) == [
        "When receives 2 to 3 of 3 in orders happened is not known: orders keeps no history.",
        "The receivers in orders are not known: the queue has not recorded them (attribute PenstockTrace).",
    ]
    assert unknown(letter, *(received(ORDERS, number) for number in (1, 3))) == [
        "When receive 2 of 3 in orders happened is not known: orders keeps no history.",
        "The receivers of 1 of 3 receives in orders are not known.",
    ]
    assert unknown(letter, shows_source=False) == []
    events = list_events(DEAD, letter, (), shows_source=True)
    assert [(event.what, event.at_ms, event.arn) for event in events] == [
        ("sent", 1, ORDERS), ("received", 2, ORDERS), ("dead_lettered", 9, DEAD),
    ]  # fmt: skip
    assert [event.arn for event in list_events(DEAD, letter, (), shows_source=False)] == [DEAD]


def test_a_recorded_receive_is_listed_once() -> None:
    facts = Facts("id", 1, state="in_flight", sent_ms=1, entered_by="sent", receives=2, first_ms=101, again_ms=[102])
    events = list_events(DEAD, facts, [received(DEAD, 1)], shows_source=False)
    assert [(event.what, event.receive, event.by) for event in events] == [
        ("sent", None, None), ("received", 1, "caller"), ("received", 2, None),
    ]  # fmt: skip


def test_unknown_is_not_zero() -> None:
    nothing = Facts("id")
    assert nothing.count_receives() is None
    assert unknown(nothing) == [
        "When the message was sent is not known.",
        "How often dead delivered the message is not known.",
        "Whether the message still exists is not known: no examined queue has it.",
    ]
    ended = Facts("id", 1, sent_ms=1, entered_by="sent", receives=0)
    assert unknown(ended)[-1].endswith("the history of dead does not have the message, or does not have it yet.")
    ended.ended_together = 2
    assert unknown(ended)[-1].endswith("the history has 2 messages that were sent in the same moment.")
    ended.keeps_history = False
    assert unknown(ended)[-1].endswith("dead keeps no history.")
