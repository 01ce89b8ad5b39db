"""Calls any SQS and SNS endpoint through boto3 with the environment's credentials."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeVar

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, SSLError, UnknownServiceError
from botocore.parsers import ResponseParserError

from penstock.aws.fifo_name import is_fifo_name
from penstock_web.local_error import LocalError, explain_tls_of_boto3, find_authorities

from .references import References

T = TypeVar("T")
_CONFIG: Final = Config(connect_timeout=5, read_timeout=30, retries={"max_attempts": 3, "mode": "standard"})
_REFUSED: Final = (BotoCoreError, ClientError, ResponseParserError)
_KEY_HINT: Final = ". AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set. `penstock keys create` creates a key"


class ManifestEndpoint:
    """Reads and writes queues and topics. Each method raises LocalError for a failed request."""

    def __init__(self, url: str | None, region: str) -> None:
        """`url` is None for AWS. If the environment has no credentials, signs requests with example credentials, which
        a service with QUEUE_ACCESS=off accepts.
        """
        known = any(name in os.environ for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE"))
        keys = {"aws_access_key_id": "any", "aws_secret_access_key": "any"} if url and not known else {}
        self._hint = _KEY_HINT if keys else ""
        session = boto3.Session(region_name=region, **keys)
        self.url = url or "AWS"
        verify = find_authorities() if url else None
        self._sqs = session.client("sqs", endpoint_url=url, config=_CONFIG, verify=verify)
        self._sns = session.client("sns", endpoint_url=url, config=_CONFIG, verify=verify)
        self._session, self._verify = session, verify
        self._sts = session.client("sts", endpoint_url=url, config=_CONFIG, verify=verify)
        self._urls: dict[str, str] = {}
        self.references = References(self._find_account(), region)

    def _find_account(self) -> str:
        """Returns the caller's account. If the endpoint has no STS, returns the account in a queue's ARN, or
        000000000000 if there are no queues.
        """
        try:
            return str(self._sts.get_caller_identity()["Account"])
        except SSLError as error:
            raise LocalError(explain_tls_of_boto3(self.url, error)) from None
        except _REFUSED:
            name = next(iter(self.list_queues()), None)
            return "000000000000" if name is None else self.read_queue_attributes(name)["QueueArn"].split(":")[4]

    def _call(self, call: Callable[[], T], what: str) -> T:
        try:
            return call()
        except SSLError as error:
            raise LocalError(explain_tls_of_boto3(self.url, error)) from None
        except ResponseParserError:
            raise LocalError(f"{what}: the response is not from SQS or SNS. Check the address {self.url}") from None
        except _REFUSED as error:
            hint = self._hint if isinstance(error, ClientError) and _is_about_keys(error) else ""
            raise LocalError(f"{what}: {' '.join(str(error).split())}{hint}") from None

    # --- event buses -------------------------------------------------------------------------------------------------
    def call_events(self, method: str, what: str, **members: object) -> dict[str, object]:
        """Calls AWS's API of event buses, which boto3 has since 1.44.5."""
        try:
            url = None if self.url == "AWS" else self.url
            client = self._session.client("eventbridgev2", endpoint_url=url, config=_CONFIG, verify=self._verify)
        except UnknownServiceError:
            raise LocalError("the installed boto3 cannot write event buses: `pip install 'boto3>=1.44.5'`") from None
        return dict(self._call(lambda: getattr(client, method)(**members), what))

    # --- queues ------------------------------------------------------------------------------------------------------
    def list_queues(self) -> list[str]:
        """Returns the names of all queues."""
        if not self._urls:
            pages = self._sqs.get_paginator("list_queues").paginate(PaginationConfig={"PageSize": 1_000})
            urls = self._call(
                lambda: [url for page in pages for url in page.get("QueueUrls", [])],
                f"listing the queues of {self.url} failed",
            )
            self._urls = {url.rpartition("/")[2]: url for url in urls}
        return sorted(self._urls)

    def read_queue_attributes(self, name: str) -> dict[str, str]:
        """Returns every attribute that the endpoint reports."""
        url = self._urls[name]
        response = self._call(
            lambda: self._sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"]), f"queue {name}"
        )
        return dict(response.get("Attributes", {}))

    def read_queue_tags(self, name: str) -> dict[str, str]:
        url = self._urls[name]
        return dict(self._call(lambda: self._sqs.list_queue_tags(QueueUrl=url), f"queue {name}").get("Tags", {}))

    def create_queue(self, name: str, attributes: Mapping[str, str], tags: Mapping[str, str]) -> None:
        """Creates a queue. The queue is FIFO if the name ends in `.fifo`."""
        fifo = {"FifoQueue": "true"} if is_fifo_name(name) else {}
        made = self._call(
            lambda: self._sqs.create_queue(
                QueueName=name, Attributes={**fifo, **attributes}, **({"tags": dict(tags)} if tags else {})
            ),
            f"queue {name}",
        )
        self._urls[name] = made["QueueUrl"]

    def set_queue(self, name: str, attributes: Mapping[str, str]) -> None:
        """Changes attributes. The value "" removes a policy."""
        url = self._urls[name]
        call = self._sqs.set_queue_attributes
        self._call(lambda: call(QueueUrl=url, Attributes=dict(attributes)), f"queue {name}")

    def tag_queue(self, name: str, tags: Mapping[str, str], gone: list[str]) -> None:
        """Sets tags, and removes the tags in `gone`."""
        url = self._urls[name]
        if tags:
            self._call(lambda: self._sqs.tag_queue(QueueUrl=url, Tags=dict(tags)), f"queue {name}")
        if gone:
            self._call(lambda: self._sqs.untag_queue(QueueUrl=url, TagKeys=gone), f"queue {name}")

    def delete_queue(self, name: str) -> None:
        url = self._urls.pop(name)
        self._call(lambda: self._sqs.delete_queue(QueueUrl=url), f"queue {name}")

    # --- topics ------------------------------------------------------------------------------------------------------
    def list_topics(self) -> list[str]:
        """Returns the ARNs of all topics."""
        pages = self._sns.get_paginator("list_topics").paginate()
        return self._call(
            lambda: sorted(topic["TopicArn"] for page in pages for topic in page.get("Topics", [])),
            f"listing the topics of {self.url} failed",
        )

    def read_topic_attributes(self, arn: str) -> dict[str, str]:
        """Returns every attribute that the endpoint reports."""
        response = self._call(lambda: self._sns.get_topic_attributes(TopicArn=arn), arn)
        return dict(response.get("Attributes", {}))

    def read_topic_tags(self, arn: str) -> dict[str, str]:
        response = self._call(lambda: self._sns.list_tags_for_resource(ResourceArn=arn), arn)
        return {tag["Key"]: tag["Value"] for tag in response.get("Tags", [])}

    def create_topic(self, name: str, attributes: Mapping[str, str], tags: Mapping[str, str]) -> None:
        """Creates a topic. The topic is FIFO if the name ends in `.fifo`."""
        fifo = {"FifoTopic": "true"} if is_fifo_name(name) else {}
        listed = [{"Key": key, "Value": value} for key, value in tags.items()]
        self._call(
            lambda: self._sns.create_topic(Name=name, Attributes={**fifo, **attributes}, Tags=listed), f"topic {name}"
        )

    def set_topic(self, arn: str, name: str, value: str) -> None:
        """Changes an attribute."""
        call = self._sns.set_topic_attributes
        self._call(lambda: call(TopicArn=arn, AttributeName=name, AttributeValue=value), arn)

    def tag_topic(self, arn: str, tags: Mapping[str, str], gone: list[str]) -> None:
        """Sets tags, and removes the tags in `gone`."""
        listed = [{"Key": key, "Value": value} for key, value in tags.items()]
        if listed:
            self._call(lambda: self._sns.tag_resource(ResourceArn=arn, Tags=listed), arn)
        if gone:
            self._call(lambda: self._sns.untag_resource(ResourceArn=arn, TagKeys=gone), arn)

    def delete_topic(self, arn: str) -> None:
        self._call(lambda: self._sns.delete_topic(TopicArn=arn), arn)

    def list_subscriptions(self, topic_arn: str) -> Iterator[tuple[str, str, str]]:
        """Yields each subscription's ARN, protocol and endpoint. An unconfirmed subscription has "PendingConfirmation"
        instead of an ARN.
        """
        pages = self._sns.get_paginator("list_subscriptions_by_topic").paginate(TopicArn=topic_arn)
        found = self._call(lambda: [row for page in pages for row in page.get("Subscriptions", [])], topic_arn)
        for row in found:
            yield row["SubscriptionArn"], row["Protocol"], row["Endpoint"]

    def read_subscription_attributes(self, arn: str) -> dict[str, str]:
        """Returns every attribute that the endpoint reports."""
        response = self._call(lambda: self._sns.get_subscription_attributes(SubscriptionArn=arn), arn)
        return dict(response.get("Attributes", {}))

    def subscribe(self, topic_arn: str, protocol: str, endpoint: str, attributes: Mapping[str, str]) -> None:
        call = self._sns.subscribe
        self._call(
            lambda: call(TopicArn=topic_arn, Protocol=protocol, Endpoint=endpoint, Attributes=dict(attributes)),
            f"the subscription of {endpoint}",
        )

    def set_subscription(self, arn: str, name: str, value: str) -> None:
        """Changes an attribute."""
        call = self._sns.set_subscription_attributes
        self._call(lambda: call(SubscriptionArn=arn, AttributeName=name, AttributeValue=value), arn)

    def unsubscribe(self, arn: str) -> None:
        self._call(lambda: self._sns.unsubscribe(SubscriptionArn=arn), arn)


def _is_about_keys(error: ClientError) -> bool:
    return bool(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") == 403)
