"""An account's settings for text messages, and opted-out phone numbers.

Sources: SetSMSAttributes, GetSMSAttributes, OptInPhoneNumber, ListOriginationNumbers (API reference); "Amazon SNS
endpoints and quotas" (General Reference) for a new account's spending limit. The error texts for settings and phone
numbers are recorded at AWS.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from penstock.access.audit.acts import Act, audited
from penstock.calls import encode_jsonb
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.sns.phone_numbers import IS_OPTED_OUT, LIST_OPTED_OUT, OPT_IN, SMS_ATTRIBUTES
from penstock.sns import errors, paging
from penstock.sns import types as sns
from penstock.sns.mobile.platform_applications import is_percentage
from penstock.sqs.validation import encode_text

from .phone_numbers import is_phone_number

PAGE = 100
MAX_CHARACTERS = 2_048

_text = msgspec.json.Decoder(dict[str, str]).decode

ATTRIBUTES: Final[Mapping[str, Callable[[str], object]]] = {
    "MonthlySpendLimit": re.compile(r"[0-9]{1,9}").fullmatch,
    "DeliveryStatusIAMRole": re.compile(r"|arn:aws[a-z-]*:iam::[0-9]{12}:role/.+").fullmatch,
    "DeliveryStatusSuccessSamplingRate": is_percentage,
    "DefaultSenderID": re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9]{1,11}").fullmatch,
    "DefaultSMSType": ("Promotional", "Transactional").__contains__,
    "UsageReportS3Bucket": re.compile(r"|[a-z0-9.-]{3,63}").fullmatch,
}
DEFAULTS: Final = {"MonthlySpendLimit": "1"}


# --- settings --------------------------------------------------------------------------------------------------------
@audited(lambda request, context: Act("sns:SetSMSAttributes", context.account_id, {"attributes": request.attributes}))
def set_sms_attributes(request: sns.SetSMSAttributesRequest, context: Context) -> Operation[sns.SetSMSAttributesResult]:
    """Changes settings of the account in this region. The settings have no effect, because Penstock does not send text
    messages itself."""
    for name, value in request.attributes.items():
        if name not in ATTRIBUTES:
            raise errors.InvalidParameter(f"{name[:64]} is not a valid attribute")
        if len(value) > MAX_CHARACTERS or encode_text(value) is None or not ATTRIBUTES[name](value):
            raise errors.InvalidParameter(f"{name} is invalid")
    yield from Call(SMS_ATTRIBUTES, (context.account_id, context.region, encode_jsonb(request.attributes)))
    return sns.SetSMSAttributesResult()


def get_sms_attributes(request: sns.GetSMSAttributesRequest, context: Context) -> Operation[sns.GetSMSAttributesResult]:
    """Returns the spending limit and the settings that were set, limited to the names in the request."""
    (row,) = yield from Call(SMS_ATTRIBUTES, (context.account_id, context.region, None))
    found = DEFAULTS | _text(row.attributes)
    named = request.attributes
    return sns.GetSMSAttributesResult(
        attributes={name: value for name, value in found.items() if not named or name in named}
    )


def list_origination_numbers(
    request: sns.ListOriginationNumbersRequest,
    context: Context,  # noqa: ARG001 - as every operation
) -> Operation[sns.ListOriginationNumbersResult]:
    """Returns an empty list, because Penstock has no phone numbers to send from."""
    if request.next_token:
        raise errors.InvalidParameter.named("NextToken")
    yield from ()
    return sns.ListOriginationNumbersResult(phone_numbers=[])


# --- phone numbers that are opted out --------------------------------------------------------------------------------
def check_if_phone_number_is_opted_out(
    request: sns.CheckIfPhoneNumberIsOptedOutRequest, context: Context
) -> Operation[sns.CheckIfPhoneNumberIsOptedOutResult]:
    number = check_number(request.phone_number)
    (row,) = yield from Call(IS_OPTED_OUT, (context.account_id, context.region, number))
    return sns.CheckIfPhoneNumberIsOptedOutResult(is_opted_out=row.opted_out)


def list_phone_numbers_opted_out(
    request: sns.ListPhoneNumbersOptedOutRequest, context: Context
) -> Operation[sns.ListPhoneNumbersOptedOutResult]:
    """Returns the opted-out phone numbers, at most 100 on a page."""
    after = paging.read_token(request.next_token, is_phone_number)
    rows = yield from Call(LIST_OPTED_OUT, (context.account_id, context.region, after, PAGE + 1))
    numbers = [row.phone_number for row in rows[:PAGE]]
    return sns.ListPhoneNumbersOptedOutResult(
        phone_numbers=numbers, next_token=paging.build_token(numbers[-1]) if len(rows) > PAGE else None
    )


@audited(lambda request, _context: Act("sns:OptInPhoneNumber", request.phone_number))
def opt_in_phone_number(
    request: sns.OptInPhoneNumberRequest, context: Context
) -> Operation[sns.OptInPhoneNumberResult]:
    """Opts a phone number in, so the number receives text messages again. A client can opt a number in once in 30
    days."""
    number = check_number(request.phone_number)
    (row,) = yield from Call(OPT_IN, (context.account_id, context.region, number))
    if row.error is not None:
        raise errors.InvalidParameter.named("phoneNumber", "A phone number can be opted in only once every 30 days")
    return sns.OptInPhoneNumberResult()


# --- checks ----------------------------------------------------------------------------------------------------------
def check_number(text: str) -> str:
    """Returns the phone number. Raises InvalidParameter with AWS's text."""
    if not is_phone_number(text):
        raise errors.InvalidParameter.named("PhoneNumber", "input incorrectly formatted")
    return text
