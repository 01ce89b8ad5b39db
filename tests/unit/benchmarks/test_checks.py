"""What checks cost: the policy of the study, and the quotients of its table."""

from __future__ import annotations

import json

from benchmarks.revisions import Cost
from benchmarks.studies.checks import STATEMENTS, Variant, policy_for, rows_of


def test_the_last_statement_lets_the_caller_in() -> None:
    """As long as AWS allows: 20 statements and 8,192 bytes ("Amazon SQS policy quotas")."""
    text = policy_for("111122223333")
    statements = json.loads(text)["Statement"]
    assert len(statements) == STATEMENTS == 20
    assert len(text) <= 8_192
    callers = [statement["Principal"]["AWS"] for statement in statements]
    assert callers.index("111122223333") == STATEMENTS - 1


def test_quotients_are_of_the_same_round() -> None:
    known = [Variant("unsigned", {}), Variant("signed", {"QUEUE_ACCESS": "sigv4"})]
    rounds = [[Cost(cpu, 1, 2), Cost(cpu * 1.5, 2, 3)] for cpu in (1.0, 2.0, 3.0)]
    base, signed = rows_of("send_1", known, rounds)
    assert base[": unsigned"] == "1.00 (1.00 to 1.00)"
    assert (signed["CPU s/1000"], signed[": unsigned"]) == (3.0, "1.50 (1.50 to 1.50)")
