"""Statements for SMS attributes, opted-out phone numbers, and phone numbers of the sandbox."""

from typing import NamedTuple

from penstock.postgres.statement import Statement


class SmsAttributesRow(NamedTuple):
    """The attributes that were set, as JSON."""

    attributes: str


SMS_ATTRIBUTES = Statement("queue.sms_attributes", ("text", "text", "jsonb"), SmsAttributesRow, is_audited=True)


class OptedOutRow(NamedTuple):
    opted_out: bool


IS_OPTED_OUT = Statement("queue.is_opted_out", ("text", "text", "text"), OptedOutRow)


class ChangedNumberRow(NamedTuple):
    changed: bool


OPT_OUT = Statement("queue.opt_out", ("text", "text", "text"), ChangedNumberRow, is_audited=True)


class NumberErrorRow(NamedTuple):
    error: str | None


OPT_IN = Statement("queue.opt_in", ("text", "text", "text"), NumberErrorRow, is_audited=True)


class PhoneNumberRow(NamedTuple):
    phone_number: str


LIST_OPTED_OUT = Statement("queue.list_opted_out", ("text", "text", "text", "int4"), PhoneNumberRow)
ADD_SANDBOX_NUMBER = Statement(
    "queue.add_sandbox_number", ("text", "text", "text", "text", "text", "int4"), NumberErrorRow, is_audited=True
)
VERIFY_SANDBOX_NUMBER = Statement(
    "queue.verify_sandbox_number", ("text", "text", "text", "text"), NumberErrorRow, is_audited=True
)


class DroppedNumberRow(NamedTuple):
    dropped: bool


DROP_SANDBOX_NUMBER = Statement(
    "queue.drop_sandbox_number", ("text", "text", "text"), DroppedNumberRow, is_audited=True, changed="dropped"
)


class SandboxNumberRow(NamedTuple):
    phone_number: str
    verified: bool


LIST_SANDBOX_NUMBERS = Statement("queue.list_sandbox_numbers", ("text", "text", "text", "int4"), SandboxNumberRow)
