"""What effects and statements must agree on."""

from penstock.effects import HANDLE_COLUMNS
from penstock.postgres.statements.messages import DELETE_MESSAGES, SEND_MESSAGES, TRANSACT


def test_a_transaction_begins_with_the_columns_of_its_handles() -> None:
    assert len(DELETE_MESSAGES.types) == HANDLE_COLUMNS
    assert TRANSACT.types[:HANDLE_COLUMNS] == DELETE_MESSAGES.types
    assert TRANSACT.types[HANDLE_COLUMNS : HANDLE_COLUMNS + 9] == SEND_MESSAGES.types[:9]
