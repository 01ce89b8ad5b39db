"""The errors of SNS: every row of the behaviour page, and what botocore's model says of each."""

import botocore.session
import pytest

from penstock import errors
from penstock.sns import errors as errors_sns
from penstock.sns.errors import SNS_ERRORS

# Query code and status: the behaviour page's row "SNS".
TABLE = [
    ("NotFound", 404),
    ("InvalidParameter", 400),
    ("ParameterValueInvalid", 400),
    ("ValidationError", 400),
    ("AuthorizationError", 403),
    ("FilterPolicyLimitExceeded", 403),
    ("SubscriptionLimitExceeded", 403),
    ("BatchEntryIdsNotDistinct", 400),
    ("EmptyBatchRequest", 400),
    ("TooManyEntriesInBatchRequest", 400),
    ("Throttled", 429),
    ("InternalError", 500),
]
# The model has ValidationException as its code; the API reference, Common Errors, ValidationError.
OTHERWISE = {"ValidationException": "ValidationError"}


@pytest.mark.parametrize(("code", "status"), TABLE)
def test_row(code: str, status: int) -> None:
    (error,) = [e for e in SNS_ERRORS.values() if e.query_code == code]
    assert (error.status, error.sender_fault) == (status, status < 500)


@pytest.mark.parametrize("error", SNS_ERRORS.values(), ids=SNS_ERRORS)
def test_the_model_knows_it(error: type[errors_sns.SnsError]) -> None:
    model = botocore.session.get_session().get_service_model("sns")
    (shape,) = [shape for shape in model.error_shapes if shape.name == error.json_type]
    told = shape.metadata.get("error") or {"code": shape.name, "httpStatusCode": 400, "senderFault": True}
    assert (OTHERWISE.get(told["code"], told["code"]), told["httpStatusCode"]) == (
        error.query_code,
        error.status,
    )
    assert bool(told.get("senderFault")) is error.sender_fault
    assert error.namespace == "com.amazonaws.sns"


def test_no_two_errors_are_the_same_on_the_wire() -> None:
    assert len({error.query_code for error in SNS_ERRORS.values()}) == len(SNS_ERRORS)
    assert len({error.json_type for error in SNS_ERRORS.values()}) == len(SNS_ERRORS)


def test_what_is_our_fault_has_another_name() -> None:
    told = errors_sns.as_sns_error(errors.InternalFailure())
    assert (told.query_code, told.message) == ("InternalError", errors.InternalFailure.default_message)
    unavailable = errors.ServiceUnavailable()
    assert errors_sns.as_sns_error(unavailable) is unavailable


def test_a_value_in_a_map() -> None:
    alone = errors_sns.InvalidParameter.named("FilterPolicy: too long")
    assert (
        alone.within("Attributes").message == "Invalid parameter: Attributes Reason: FilterPolicy: too long"
    )
