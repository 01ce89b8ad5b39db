"""Calls SendMessage and Publish for universal targets, in the transaction of the worker's step.

A batch of events is one call. The input of a subscriber is the request, or an expression that builds the request from
the array of events. An expression can name any queue or topic of the subscriber's account. With QUEUE_ACCESS=sigv4, the
policy of the queue or topic must not deny it to the event bus or to the account.
"""

from collections.abc import Sequence
from typing import Final

from penstock import drivers
from penstock.access.deliveries import do_policies_decide
from penstock.access.policy.evaluation import Decision, evaluate
from penstock.access.policy.requests import AccessRequest, Principal, build_root
from penstock.aws.arn import read_account
from penstock.aws.sns_arn import parse_topic_arn
from penstock.aws.universal_target import UniversalTargetInvalid
from penstock.calls import build_call
from penstock.context import Context
from penstock.drivers import StatementExecutor
from penstock.effects import BatchCall
from penstock.environment import Environment
from penstock.errors import AwsError
from penstock.events.expressions.syntax import find_source
from penstock.postgres.statements.access import READ_POLICIES, READ_TOPIC_POLICIES, ResourceEntry
from penstock.postgres.statements.messages import SEND_MESSAGES
from penstock.sns.publishing.publications import build_publisher_context
from penstock.sns.publishing.publish import publish
from penstock.sns.types import PublishRequest
from penstock.sqs.send import build_message
from penstock.sqs.types import SendMessageRequest
from penstock.sqs.validation import check_message_size
from penstock.universal_calls import UniversalCall, read_call

from .batches import split
from .subscriber import INVALID, NOT_TRANSFORMED, Refusal, Shipment, Subscriber, build_refusal, refuse_call
from .transformation import Transformation

EVENTS: Final = Principal(None, None, "events.amazonaws.com")


class Calling:
    """Calls the actions of subscribers with universal targets. Raises psycopg.Error."""

    def __init__(self, calls: StatementExecutor, environment: Environment) -> None:
        self._calls = calls
        self._environment = environment
        self._transformation = environment.cache(Transformation)

    def send(self, shipments: Sequence[Shipment], deadline: float) -> list[Refusal | None]:
        """Sends the events of one subscriber, in batches. A refusal of a call is the refusal of each of its events. No
        expression begins after `deadline`."""
        subscriber = shipments[0].subscriber
        batches = split(shipments, subscriber.batch_size)
        events = [[event for _, event in batch] for batch in batches]
        inputs = self._transformation.build_inputs(subscriber, events, deadline)
        refusals = [given if isinstance(given, Refusal) else self._call(subscriber, given) for given in inputs]
        return [refusal for batch, refusal in zip(batches, refusals, strict=True) for _ in batch]

    def _call(self, subscriber: Subscriber, text: str) -> Refusal | None:
        action = subscriber.action
        assert action is not None  # noqa: S101 - the caller has checked the target
        is_expression = find_source(str(subscriber.parameters["Input"])) is not None
        context = build_publisher_context(subscriber, self._environment)
        try:
            call = read_call(action, text, context)
            if is_expression and (denial := self._find_denial(call, subscriber, context)) is not None:
                return denial
            return self._execute(call)
        except UniversalTargetInvalid as invalid:
            return Refusal(NOT_TRANSFORMED if is_expression else INVALID, str(invalid))
        except AwsError as error:
            return refuse_call(error)

    def _execute(self, call: UniversalCall) -> Refusal | None:
        if isinstance(call.request, SendMessageRequest):
            message = build_message(call.request, call.arn).stored
            check_message_size(message.size_bytes)
            (row,) = self._calls.call(*build_call(BatchCall(SEND_MESSAGES, [message], (False,))))
            return None if row.error is None else build_refusal(row.error, row.detail)
        topic = parse_topic_arn(call.arn)
        assert topic is not None  # noqa: S101 - read_call has checked the request
        assert isinstance(call.request, PublishRequest)  # noqa: S101 - a function has a carrier
        drivers.run(publish(call.request, build_publisher_context(topic, self._environment)), self._calls)
        return None

    def _find_denial(self, call: UniversalCall, subscriber: Subscriber, context: Context) -> Refusal | None:
        account_id = subscriber.account_id
        if read_account(call.arn) != account_id:
            return Refusal("ACCESS_DENIED", f"An expression cannot name {call.arn}, which is of another account.")
        if not do_policies_decide(context):
            return None
        is_queue = isinstance(call.request, SendMessageRequest)
        statement, action = (READ_POLICIES, "sqs:sendmessage") if is_queue else (READ_TOPIC_POLICIES, "sns:publish")
        rows = self._calls.call(*build_call(BatchCall(statement, [ResourceEntry(call.arn)])))
        keys = {"aws:sourcearn": subscriber.arn, "aws:sourceaccount": account_id, "aws:securetransport": "true"}
        for principal in (EVENTS, build_root(account_id)):
            request = AccessRequest(principal, action, call.arn, keys)
            if any(evaluate(row.policy, request) is Decision.DENIED for row in rows):
                return Refusal("ACCESS_DENIED", f"The policy of {call.arn} denies the event.")
        return None
