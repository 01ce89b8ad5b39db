"""Defines valid and invalid requests for every action as data, for the differential run.

A `Ref` replaces a value that differs between accounts or comes from an earlier response.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.support.model.generators import ELEVEN, SEVERAL, TEXT, TRACE

Act = tuple[str, dict[str, Any]]
Acts = SearchStrategy[Act]


class Ref(NamedTuple):
    """`url`, `arn` and `name` belong to a queue. `redrive` is a policy with the queue and the maxReceiveCount `number`.

    `handle`, `task` and `token` come from earlier responses. 0 means the last response. A `handle` without a queue
    belongs to the request's queue.
    """

    kind: str
    queue: str = ""
    number: int = 0


NAMES = ("plain", "other", "dead", "line.fifo", "dead.fifo")
names = st.sampled_from((*NAMES * 3, "plain", "line.fifo", "nobody", "no.fifo"))
urls = names.map(lambda name: Ref("url", name))
arns = names.map(lambda name: Ref("arn", name))
own_handles = st.tuples(names, st.integers(0, 8)).map(lambda drawn: Ref("handle", *drawn))
handles = st.one_of(
    own_handles,
    own_handles,
    st.integers(0, 8).map(lambda number: Ref("handle", "", number)),
    st.sampled_from(("", "forged", "A" * 60, "ä", "x" * 2000)),
)


def pick(*values: Any) -> SearchStrategy[Any]:
    return st.sampled_from(values)


def act(method: str, required: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> Acts:
    """Draws calls of a method. Some calls lack a required member."""
    whole = st.fixed_dictionaries(dict(required), optional=dict(optional or {}))
    parts = st.fixed_dictionaries({}, optional={**required, **(optional or {})})
    return st.tuples(st.just(method), st.one_of(*[whole] * 15, parts))


# --- values ----------------------------------------------------------------------------------------------------------
# Times are whole minutes, because the clock advances by minutes. Some values are invalid.
seconds = pick(0, 60, 600, 43_200, -1, 43_201, 2**31)
delays = pick(0, 60, 900, -1, 901)
bodies = pick("a", "b", " x\t\r\n y ", "<&>\"'%+=;", "größe ☃ 🂡", "x" * 1025, "", "a\x01b", "\ufffe", "]]>", "%E4")
ids = pick("a", "b", "!-~", "a b", "", "x" * 128, "x" * 129, "ä")
attributes = pick(
    {},
    TEXT,
    SEVERAL,
    ELEVEN,
    {"a.b": {"DataType": "String.ä<", "StringValue": "<ü>\r\n"}, "a.c": {"DataType": "Number", "StringValue": "1"}},
    {"AWS.a": {"DataType": "String", "StringValue": "x"}},
    {"a": {"DataType": "Text", "StringValue": "x"}},
    {"a": {"DataType": "Number", "StringValue": "one"}},
    {"a": {"DataType": "String", "StringValue": ""}},
    {"a": {"DataType": "String"}},
    {"a": {"StringValue": "x"}},
    {"a": {"DataType": "String", "StringListValues": ["x"], "StringValue": "x"}},
    {"": {"DataType": "String", "StringValue": "x"}},
)
system = pick(TRACE, {"SenderId": TEXT["kind"]}, {"AWSTraceHeader": {"DataType": "Number", "StringValue": "1"}})
tags = st.dictionaries(pick("a", "ü", "", "k" * 129), pick("", "1", "<&>", "v" * 257), max_size=2)
results = pick(1, 2, 10, 0, 11, 1001)
POLICY = '{"Statement":{"Effect":"Allow","Principal":"*","Action":"sqs:*","Resource":"*"}}'
labels = pick("one", "two", "a b", "")

queue_attributes = st.fixed_dictionaries(
    {},
    optional={
        "VisibilityTimeout": pick("60", "600", "0", "43201", "x", ""),
        "DelaySeconds": pick("0", "60", "901"),
        "MaximumMessageSize": pick("1024", "1048576", "1"),
        "MessageRetentionPeriod": pick("3600", "345600", "59"),
        "ReceiveMessageWaitTimeSeconds": pick("0", "21"),
        "RedrivePolicy": st.one_of(
            st.tuples(names, st.integers(0, 3)).map(lambda drawn: Ref("redrive", *drawn)), pick("", "{}", "no")
        ),
        "RedriveAllowPolicy": pick('{"redrivePermission":"denyAll"}', '{"redrivePermission":"allowAll"}', "{}"),
        "Policy": pick("", POLICY, "<no>"),
        "KmsMasterKeyId": pick("alias/aws/sqs", ""),
        "SqsManagedSseEnabled": pick("true", "false", "no"),
        "ContentBasedDeduplication": pick("true", "false"),
        "DeduplicationScope": pick("queue", "messageGroup", "all"),
        "FifoThroughputLimit": pick("perQueue", "perMessageGroupId"),
        "FifoQueue": pick("true", "false"),
        "Colour": pick("red"),
    },
)
attribute_names = st.lists(
    pick("All", "QueueArn", "RedrivePolicy", "ApproximateNumberOfMessages", "Policy", "CreatedTimestamp", "Colour"),
    max_size=3,
)

# --- messages --------------------------------------------------------------------------------------------------------
any_message = {"MessageBody": bodies}
options = {
    "DelaySeconds": delays,
    "MessageAttributes": attributes,
    "MessageSystemAttributes": system,
    "MessageGroupId": ids,
    "MessageDeduplicationId": ids,
}
# Valid messages for each type of queue.
good: dict[str, SearchStrategy[Any]] = {
    "MessageBody": pick("a", "b", " x\t\r\n y ", "<&>\"'%+=;", "größe ☃ 🂡", "]]>", "%E4")
}
good_options = {"MessageAttributes": pick(TEXT, SEVERAL), "MessageSystemAttributes": pick(TRACE)}
good_fifo = {"MessageGroupId": pick("g", "h"), "MessageDeduplicationId": st.integers(0, 10**6).map(str)}
good_standard = {"DelaySeconds": pick(0, 60, 900)}
entry_ids = pick(*"abcdefg", "a b", "x" * 81)
good_ids = pick(*"abcdefghij")


def to(queues: SearchStrategy[Any], method: str, rest: Mapping[str, Any]) -> Acts:
    """Draws valid calls on a queue."""
    whole = {"QueueUrl": queues.map(lambda name: Ref("url", name)), **rest}
    return st.tuples(st.just(method), st.fixed_dictionaries(whole))


def batch(required: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> SearchStrategy[Any]:
    """Draws entries, some with wrong ids."""
    entry = st.fixed_dictionaries({"Id": entry_ids, **required}, optional=dict(optional or {}))
    return st.one_of(*[entries(required, optional)] * 3, st.lists(entry, min_size=1, max_size=11))


def entries(required: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> SearchStrategy[Any]:
    """Draws up to ten entries with valid ids."""
    entry = st.fixed_dictionaries({"Id": good_ids, **required}, optional=dict(optional or {}))
    return st.lists(entry, min_size=1, max_size=10, unique_by=lambda entry: str(entry["Id"]))


def good_sends(queues: SearchStrategy[Any], more: dict[str, SearchStrategy[Any]]) -> Acts:
    """Draws valid sends of one message or several."""
    single = st.fixed_dictionaries(good | more, optional=good_options)
    return st.one_of(
        st.tuples(queues, single).map(lambda drawn: ("send_message", {"QueueUrl": Ref("url", drawn[0]), **drawn[1]})),
        to(queues, "send_message_batch", {"Entries": entries(good | more, good_options)}),
    )


hidden = {"ReceiptHandle": handles, "VisibilityTimeout": seconds}
received = {
    "MaxNumberOfMessages": pick(1, 3, 10, 10, 0, 11),
    "VisibilityTimeout": seconds,
    "AttributeNames": st.lists(pick("All", "SentTimestamp", "ApproximateReceiveCount", "Colour"), max_size=2),
    "MessageAttributeNames": st.lists(pick("All", ".*", "kind", "a.*", "size"), max_size=2),
}
given_actions = st.lists(pick("SendMessage", "*", "DeleteQueue", "ReceiveMessage"), max_size=3)
given_accounts = st.lists(pick("333344445555", "1"), max_size=2)

everything = {
    "MaxNumberOfMessages": st.just(10),
    "AttributeNames": st.just(["All"]),
    "MessageAttributeNames": st.just([".*"]),
}
queue_names = names.map(lambda name: Ref("name", name))
tokens = pick(Ref("token"), "?")
pages = {"MaxResults": results, "NextToken": tokens}

ACTS: tuple[Acts, ...] = (
    act("create_queue", {"QueueName": queue_names}, {"Attributes": queue_attributes}),
    act("create_queue", {"QueueName": pick("a b", "", "x" * 81, "ä.fifo")}, {"tags": tags}),
    *[good_sends(pick("plain", "other", "dead"), good_standard)] * 2,
    *[good_sends(pick("line.fifo", "dead.fifo"), good_fifo)] * 2,
    act("send_message", {"QueueUrl": urls, **any_message}, options),
    act("send_message_batch", {"QueueUrl": urls, "Entries": batch(any_message, options)}),
    *[to(pick(*NAMES), "receive_message", everything)] * 4,
    act("receive_message", {"QueueUrl": urls}, received),
    *[act("delete_message", {"QueueUrl": urls, "ReceiptHandle": handles})] * 2,
    act("delete_message_batch", {"QueueUrl": urls, "Entries": batch({"ReceiptHandle": handles})}),
    *[act("change_message_visibility", {"QueueUrl": urls, **hidden})] * 2,
    act("change_message_visibility_batch", {"QueueUrl": urls, "Entries": batch(hidden)}),
    act("set_queue_attributes", {"QueueUrl": urls, "Attributes": queue_attributes}),
    act("get_queue_attributes", {"QueueUrl": urls}, {"AttributeNames": attribute_names}),
    act("get_queue_url", {"QueueName": queue_names}, {"QueueOwnerAWSAccountId": pick("1")}),
    act("list_queues", {}, {"QueueNamePrefix": pick("", "ä"), **pages}),
    st.one_of(act("delete_queue", {"QueueUrl": urls}), act("purge_queue", {"QueueUrl": urls})),
    act("tag_queue", {"QueueUrl": urls, "Tags": tags}),
    act("untag_queue", {"QueueUrl": urls, "TagKeys": st.lists(pick("a", "ü", ""), max_size=2)}),
    act("list_queue_tags", {"QueueUrl": urls}),
    act(
        "add_permission", {"QueueUrl": urls, "Label": labels, "AWSAccountIds": given_accounts, "Actions": given_actions}
    ),
    act("remove_permission", {"QueueUrl": urls, "Label": labels}),
    act("list_dead_letter_source_queues", {"QueueUrl": urls}, pages),
    act(
        "start_message_move_task",
        {"SourceArn": arns},
        {"DestinationArn": arns, "MaxNumberOfMessagesPerSecond": pick(0, 500)},
    ),
    act("list_message_move_tasks", {"SourceArn": arns}, {"MaxResults": results}),
    act("cancel_message_move_task", {"TaskHandle": st.one_of(st.just(Ref("task")), pick("x", ""))}),
    *[pick(60, 120, 300, 3600).map(lambda pause: ("pass_time", {"seconds": pause}))] * 2,
    names.map(lambda name: ("move", {"queue": name})),
)
acts = st.lists(st.one_of(ACTS), min_size=20, max_size=60)
