"""Documents of /v1/topics. Limits of names and values are those of SNS, whose operations check them."""

from typing import Annotated, Literal

import msgspec

Raw = msgspec.Raw
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=2_048)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=256)]


class NewTopic(msgspec.Struct, forbid_unknown_fields=True):
    """A topic to make; a name that ends in `.fifo` makes a FIFO topic. `attributes` have the names of SNS."""

    name: Name
    attributes: dict[str, str] = {}
    tags: dict[str, str] = {}


class ShownTopic(msgspec.Struct):
    """A topic."""

    name: str
    arn: str


class DescribedTopic(ShownTopic):
    """A topic with all attributes that SNS shows, and its tags."""

    attributes: dict[str, str]
    tags: dict[str, str]


class TopicList(msgspec.Struct, omit_defaults=True):
    """Topics by name, 100 a page; `next` asks for the following page."""

    topics: list[ShownTopic]
    next: str | None = None


class NewTopicMessage(msgspec.Struct, forbid_unknown_fields=True):
    """A message to publish: a text, or any JSON, which is published as it is written, without blanks.

    `headers` are message attributes: texts and numbers as such, any other value as a String of JSON.
    """

    message: Raw
    subject: str | None = None
    headers: dict[str, Raw] = {}
    group_id: str | None = None
    dedup_id: str | None = None


class PublishedMessage(msgspec.Struct, omit_defaults=True):
    """What SNS answers. `sequence_number`: of a FIFO topic."""

    message_id: str
    sequence_number: str | None = None


class NewTopicSubscription(msgspec.Struct, forbid_unknown_fields=True):
    """A subscription to make: of a `queue` of the account (or an ARN), or a `url`, which has to confirm.

    `filter`: a filter policy, compared with the message's attributes or with its body. `raw`: without envelope.
    `dead_letters`: the queue that gets what a URL does not take.
    """

    queue: Text | None = None
    url: Text | None = None
    filter: dict[str, Raw] | None = None
    filter_on: Literal["attributes", "body"] = "attributes"
    raw: bool = False
    dead_letters: Text | None = None


class ShownTopicSubscription(msgspec.Struct):
    """A subscription. `arn`: null until its endpoint has confirmed."""

    arn: str | None
    topic: str
    protocol: str
    endpoint: str
    owner: str


class TopicSubscriptionList(msgspec.Struct, omit_defaults=True):
    """Subscriptions, 100 a page; `next` asks for the following page."""

    subscriptions: list[ShownTopicSubscription]
    next: str | None = None


class MadeSubscription(msgspec.Struct):
    """`arn`: null while its endpoint has not confirmed."""

    arn: str | None
