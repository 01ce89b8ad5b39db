"""The SMS sandbox: the service sends a password to a phone number, and the password verifies the number.

No account is in the sandbox, so unverified numbers also receive messages. The password is an outgoing message, which
`/v1/outbox` shows. Sources: the actions' pages of the API reference; "SMS sandbox" (SNS Developer Guide). The error
texts are Penstock's.
"""

import secrets

from penstock.access.audit.acts import Act, audited
from penstock.access.quotas import TOO_MANY_DELIVERIES, explain_deliveries_quota
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.sns.phone_numbers import (
    ADD_SANDBOX_NUMBER,
    DROP_SANDBOX_NUMBER,
    LIST_SANDBOX_NUMBERS,
    VERIFY_SANDBOX_NUMBER,
)
from penstock.sns import errors, paging
from penstock.sns import types as sns

from .phone_numbers import is_phone_number
from .settings import check_number

PAGE = 100
MAX_NUMBERS = 10
TEXT = "Your verification code is {}"


def get_sms_sandbox_account_status(
    request: sns.GetSMSSandboxAccountStatusRequest,  # noqa: ARG001 - as every operation
    context: Context,  # noqa: ARG001
) -> Operation[sns.GetSMSSandboxAccountStatusResult]:
    """Returns that the account is not in the sandbox."""
    yield from ()
    return sns.GetSMSSandboxAccountStatusResult(is_in_sandbox=False)


@audited(lambda request, _context: Act("sns:CreateSMSSandboxPhoneNumber", request.phone_number))
def create_sms_sandbox_phone_number(
    request: sns.CreateSMSSandboxPhoneNumberRequest, context: Context
) -> Operation[sns.CreateSMSSandboxPhoneNumberResult]:
    """Sends a password to a new or unverified phone number.

    An account has at most ten phone numbers.
    """
    number = check_number(request.phone_number)
    password = f"{secrets.randbelow(1_000_000):06d}"
    (row,) = yield from Call(
        ADD_SANDBOX_NUMBER, (context.account_id, context.region, number, password, TEXT.format(password), MAX_NUMBERS)
    )
    if row.error == "OptedOut":
        raise errors.OptedOut
    if row.error == TOO_MANY_DELIVERIES:
        raise errors.Throttled(explain_deliveries_quota(context.environment.settings))
    if row.error is not None:
        raise errors.UserError(f"The SMS sandbox of an account can have {MAX_NUMBERS} phone numbers.")
    return sns.CreateSMSSandboxPhoneNumberResult()


@audited(lambda request, _context: Act("sns:VerifySMSSandboxPhoneNumber", request.phone_number))
def verify_sms_sandbox_phone_number(
    request: sns.VerifySMSSandboxPhoneNumberRequest, context: Context
) -> Operation[sns.VerifySMSSandboxPhoneNumberResult]:
    """Verifies a phone number by a password that is less than a day old. The password is void after five wrong
    attempts."""
    number = check_number(request.phone_number)
    (row,) = yield from Call(
        VERIFY_SANDBOX_NUMBER, (context.account_id, context.region, number, request.one_time_password)
    )
    if row.error == "NotFound":
        raise build_number_error()
    if row.error is not None:
        raise errors.Verification
    return sns.VerifySMSSandboxPhoneNumberResult()


@audited(lambda request, _context: Act("sns:DeleteSMSSandboxPhoneNumber", request.phone_number))
def delete_sms_sandbox_phone_number(
    request: sns.DeleteSMSSandboxPhoneNumberRequest, context: Context
) -> Operation[sns.DeleteSMSSandboxPhoneNumberResult]:
    number = check_number(request.phone_number)
    (row,) = yield from Call(DROP_SANDBOX_NUMBER, (context.account_id, context.region, number))
    if not row.dropped:
        raise build_number_error()
    return sns.DeleteSMSSandboxPhoneNumberResult()


def list_sms_sandbox_phone_numbers(
    request: sns.ListSMSSandboxPhoneNumbersRequest, context: Context
) -> Operation[sns.ListSMSSandboxPhoneNumbersResult]:
    """Returns the account's phone numbers, both verified and pending."""
    size = request.max_results or PAGE
    after = paging.read_token(request.next_token, is_phone_number)
    rows = yield from Call(LIST_SANDBOX_NUMBERS, (context.account_id, context.region, after, size + 1))
    return sns.ListSMSSandboxPhoneNumbersResult(
        phone_numbers=[
            sns.SMSSandboxPhoneNumber(phone_number=row.phone_number, status="Verified" if row.verified else "Pending")
            for row in rows[:size]
        ],
        next_token=paging.build_token(rows[size - 1].phone_number) if len(rows) > size else None,
    )


def build_number_error() -> errors.TopicResourceNotFound:
    """Returns the error for a phone number that is not in the sandbox."""
    return errors.TopicResourceNotFound("The phone number is not in the SMS sandbox")
