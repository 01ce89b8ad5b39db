"""Tests which targets of a schedule get an access check."""

import pytest

from penstock.scheduler.uses import INVOKES, is_invoked_arn


@pytest.mark.parametrize("service", INVOKES)
def test_a_target_whose_resource_is_no_name_gets_a_check(service: str) -> None:
    """A check that depended on the parser of each service would let a target of a new service pass."""
    assert is_invoked_arn(f"arn:aws:{service}:eu-central-1:000000000000:!")


@pytest.mark.parametrize(
    "text", ["", "orders", "arn:aws:sqs:eu-central-1", "urn:aws:sqs:eu-central-1:000000000000:orders"]
)
def test_other_texts_are_refused_by_the_operation(text: str) -> None:
    assert not is_invoked_arn(text)
