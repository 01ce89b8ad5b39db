"""What effects and statements must agree on."""

import pytest

from penstock.effects import Call, Statement
from penstock.postgres.statements.messages import (
    DELETE_MESSAGES,
    SEND_MESSAGES,
    TRANSACT,
    DeletedRow,
    ReceiptHandle,
    SendEntry,
    VisibilityEntry,
)
from penstock.postgres.statements.queues import DROP_QUEUE, SET_QUEUE_ATTRIBUTES, TAG_QUEUE, QueueErrorRow


def test_a_transaction_begins_with_the_columns_of_its_handles_and_messages() -> None:
    handles, messages = len(ReceiptHandle._fields), len(SendEntry._fields)
    assert TRANSACT.types[:handles] == DELETE_MESSAGES.types
    assert TRANSACT.types[handles : handles + messages] == SEND_MESSAGES.types[:messages]


def test_a_changed_visibility_begins_with_the_handle() -> None:
    assert VisibilityEntry._fields[:-1] == ReceiptHandle._fields


def test_a_statement_calls_its_function_with_typed_parameters() -> None:
    assert TAG_QUEUE.text == 'select "error", "detail" from queue.tag_queue($1::text, $2::jsonb, $3::int4)'
    assert DROP_QUEUE.text == "select * from queue.drop_queue($1::text)"


def test_rows_of_an_answer_get_their_names() -> None:
    (row,) = SET_QUEUE_ATTRIBUTES.make_rows([["QueueDoesNotExist"]])
    assert row == QueueErrorRow("QueueDoesNotExist")
    assert row.error == "QueueDoesNotExist"


def test_an_effect_yields_itself_and_returns_what_it_is_sent() -> None:
    call = Call(SET_QUEUE_ATTRIBUTES, ("arn", "{}"))
    steps = iter(call)
    assert next(steps) is call
    rows = [QueueErrorRow(None)]
    with pytest.raises(StopIteration) as stop:
        steps.send(rows)
    assert stop.value.value is rows


def test_the_last_parameters_may_be_named() -> None:
    """So the next release may put a parameter with a default before them, while this one still calls."""
    statement = Statement("queue.f", ("text[]", "int4", "bool"), DeletedRow, named=("p_b", "p_c"))
    assert (
        statement.text == 'select "n", "outcome" from queue.f($1::text[], p_b => $2::int4, p_c => $3::bool)'
    )
