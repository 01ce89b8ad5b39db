"""Tests of Query requests that no SDK sends. The source is the Developer Guide, "Making Query API requests"
(https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-making-api-requests.html).
"""

from __future__ import annotations

import re
from urllib.parse import quote, urlencode

import pytest

from tests.support.conformance.requests import MIB, Raw, error, is_lambdas_refusal, largest_batch, refused
from tests.support.conformance.sqs import ACCOUNT

VERSION = "Version=2012-11-05"


def path_of(url: str) -> str:
    return "/" + "/".join(url.split("/")[3:])


def send(url: str, **more: str) -> dict[str, str]:
    return {"Action": "SendMessage", "QueueUrl": url, "MessageBody": "x", **more}


# --- where a request may go ------------------------------------------------------------------------------------------
def test_the_path_of_the_queue(raw: Raw) -> None:
    """A Query request can also use POST or GET on the queue URL's path."""
    url = raw.sqs.create()
    assert raw.query({"Action": "SendMessage", "MessageBody": "by post"}, path_of(url)).status_code == 200
    assert raw.get(path_of(url), "Action=SendMessage&MessageBody=by%20get").status_code == 200
    response = raw.get(path_of(url), "Action=ReceiveMessage&MaxNumberOfMessages=10&" + VERSION)
    assert sorted(re.findall("<Body>(.*?)</Body>", response.text)) == ["by get", "by post"]
    assert response.headers["content-type"] == "text/xml"


def test_a_get_on_the_path_of_no_queue(raw: Raw) -> None:
    response = raw.get("/000000000000/never-made", "Action=ReceiveMessage")
    assert error(response) == refused("AWS.SimpleQueueService.NonExistentQueue")


def test_a_get_without_an_action(raw: Raw) -> None:
    """A browser sends a GET request to a queue URL. As recorded at AWS, the response is an empty XML element for every
    Accept header."""
    url = raw.sqs.create()
    for accept in ("*/*", "application/json"):
        response = raw.get(path_of(url), "", accept=accept)
        assert (response.status_code, response.text) == (404, "<UnknownOperationException/>\n")
        assert response.headers["content-type"] == "text/xml"
    assert error(raw.get("/", "")) == refused("MissingAction")


@pytest.mark.parametrize("action", ["CreateQueue", "ListQueues", "Publish"])
def test_actions_of_no_queue_on_a_queues_own_url(raw: Raw, action: str) -> None:
    """AWS returns InvalidAction (recorded at AWS)."""
    path = path_of(raw.sqs.create())
    refusal = refused("InvalidAction")
    assert error(raw.query({"Action": action, "QueueName": "q", "Message": "m"}, path)) == refusal


def test_a_queues_own_url_finds_other_queues(raw: Raw) -> None:
    """The path of a queue also accepts GetQueueUrl for any queue of the account (recorded at AWS)."""
    path, other = path_of(raw.sqs.create()), raw.sqs.create()
    for more in ("", f"&QueueOwnerAWSAccountId={ACCOUNT}"):
        response = raw.get(path, f"Action=GetQueueUrl&QueueName={other.rpartition('/')[2]}{more}")
        assert (response.status_code, f"<QueueUrl>{other}</QueueUrl>" in response.text) == (200, True)


def test_a_result_without_members_is_an_empty_element(raw: Raw) -> None:
    """The response to ReceiveMessage on an empty queue equals a response that was recorded at AWS, because programs
    compare the text.
    """
    path = path_of(raw.sqs.create())
    for action in ("ReceiveMessage", "ListDeadLetterSourceQueues", "GetQueueAttributes"):
        response = raw.query({"Action": action}, path)
        assert (response.status_code, f"><{action}Result/><" in response.text) == (200, True)


def test_forms_of_a_queues_path(raw: Raw) -> None:
    """A path can end with slashes (as in the API reference), contain a region, or be only a name (SDK for Java 1)."""
    path = path_of(raw.sqs.create())
    body = {"Action": "SendMessage", "MessageBody": "m"}
    for form in (path, f"{path}/", f"{path}//", f"/us-east-1{path}", "/" + path.rpartition("/")[2], f"/a/b{path}"):
        assert raw.query(body, form).status_code == 200, form
    assert error(raw.query(body, "/a/b/c")) == refused("AWS.SimpleQueueService.NonExistentQueue")
    assert error(raw.query({"Action": "None"}, "/a/b/c")) == refused("InvalidAction")
    assert raw.json("ListQueues", {"QueueNamePrefix": "none"}, path="/a/b").status_code == 200


def test_a_path_with_percent_signs_is_the_decoded_path(raw: Raw) -> None:
    """An encoded letter in a path is equal to the letter (RFC 3986, 6.2.2.2). All APIs decode the whole path."""
    name = raw.sqs.create().rpartition("/")[2]
    for path in (f"/v1/queues/{name}", f"/%76%31/queues/{name}", f"/v1/%71ueues/%{ord(name[0]):x}{name[1:]}"):
        response = raw.http.get(raw.sqs.endpoint_url + path)
        assert (response.status_code, response.json()["name"]) == (200, name), path
    queue = f"/{ACCOUNT}/%{ord(name[0]):x}{name[1:]}"
    assert raw.query({"Action": "SendMessage", "MessageBody": "x"}, queue).status_code == 200
    nowhere = raw.http.get(f"{raw.sqs.endpoint_url}/schedules/nowhere")
    assert raw.http.get(f"{raw.sqs.endpoint_url}/%73chedules/nowhere").json() == nowhere.json()


def test_a_form_that_names_a_target(raw: Raw) -> None:
    """Amazon::SQS::Simple for Perl sends a form and X-Amz-Target. The body's content type decides the protocol."""
    body = {"Action": "ListQueues", "QueueNamePrefix": "none"}
    response = raw.query(body, **{"x-amz-target": "AmazonSQS.ListQueues"})
    assert (response.status_code, response.headers["content-type"]) == (200, "text/xml")


PRESIGNED = {
    "Action": "SendMessage",
    "MessageBody": "presigned",
    "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
    "X-Amz-Credential": "111122223333/20250101/eu-west-1/sqs/aws4_request",
    "X-Amz-Date": "20250101T000000Z",
    "X-Amz-Expires": "60",
    "X-Amz-SignedHeaders": "host",
    "X-Amz-Signature": "0" * 64,
}


def test_a_presigned_url(raw: Raw) -> None:
    """The service does not verify the SigV4 signature, but reads the account and the region from the credential
    scope.
    """
    owner = raw.sqs.caller(account="111122223333", region="eu-west-1")
    url = owner.create()
    assert raw.get(path_of(url), urlencode(PRESIGNED)).status_code == 200
    assert owner.receive_one(url)["Body"] == "presigned"


# --- what is wrong with it -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("body", [b"", b"x", b"&&&", b"=", VERSION.encode(), b"Action=", b"action=SendMessage", b"{}"])
def test_no_action(raw: Raw, body: bytes) -> None:
    assert error(raw.query(body)) == refused("MissingAction")


@pytest.mark.parametrize("action", ["Nothing", "sendMessage", "Publish ", "SendMessage\x00", "x" * 5000, "<a>&\"'"])
def test_actions_that_do_not_exist(raw: Raw, action: str) -> None:
    assert error(raw.query({"Action": action})) == refused("InvalidAction")


@pytest.mark.parametrize(
    "body",
    [
        b"Action=SendMessage&QueueUrl=%ff",
        b"Action=SendMessage&%ff=x",
        b"Action=SendMessage&\xff\xfe",
        b"Action=SendMessage&a=1&a.b=2",
        b"Action=SendMessage&a.b=1&a=2",
        b"Action=SendMessage&" + b".".join([b"a"] * 50) + b"=x",
        b"Action=SendMessage&" + b"&".join(b"a%d=1" % number for number in range(6000)),
    ],
    ids=["utf8", "name", "bytes", "value-and-prefix", "prefix-and-value", "deep", "many"],
)
def test_malformed_forms(raw: Raw, body: bytes) -> None:
    assert error(raw.query(body)) == refused("MalformedQueryString")


@pytest.mark.parametrize(
    "parameters",
    [
        {"DelaySeconds": "five"},
        {"DelaySeconds": ""},
        {"DelaySeconds": "1.5"},
        {"DelaySeconds": "9" * 400},
        {"DelaySeconds": "٣"},
        {"DelaySeconds.1": "5"},
        {"MessageAttribute.1.Name": "a", "MessageAttribute.1.Value.DataType": "Nothing"},
        {"MessageAttribute.1": "x"},
        {"MessageAttribute.1.Name": "a", "MessageAttribute.1.Value.DataType": "Binary",
         "MessageAttribute.1.Value.BinaryValue": "*"},
    ],
    ids=lambda parameters: "&".join(parameters)[:60],
)  # fmt: skip
def test_values_that_cannot_be(raw: Raw, parameters: dict[str, str]) -> None:
    url = raw.sqs.create()
    before = raw.sqs.clock.now()
    assert error(raw.query(send(url, **parameters))) == refused("InvalidParameterValue")
    assert raw.sqs.clock.stored_since(before) == 0


@pytest.mark.parametrize("missing", ["QueueUrl", "MessageBody"])
def test_missing_parameters(raw: Raw, missing: str) -> None:
    parameters = send(raw.sqs.create())
    del parameters[missing]
    response = raw.query(parameters)
    assert error(response) == refused("MissingParameter")
    assert missing in response.text


def test_indexes_of_any_size(raw: Raw) -> None:
    """The decoder treats an index only as a name: `999999999` creates one entry, not an array of a thousand million
    entries."""
    url = raw.sqs.create()
    number = "MessageAttribute.999999999"
    attribute = {f"{number}.Name": "a", f"{number}.Value.DataType": "String", f"{number}.Value.StringValue": "x"}
    assert raw.query(send(url, **attribute)).status_code == 200
    assert raw.sqs.receive_one(url, MessageAttributeNames=["All"])["MessageAttributes"].keys() == {"a"}


def test_eleven_entries(raw: Raw) -> None:
    batch = {"Action": "SendMessageBatch", "QueueUrl": raw.sqs.create()}
    for number in range(1, 12):
        batch[f"SendMessageBatchRequestEntry.{number}.Id"] = f"id-{number}"
        batch[f"SendMessageBatchRequestEntry.{number}.MessageBody"] = "x"
    assert error(raw.query(batch)) == refused("AWS.SimpleQueueService.TooManyEntriesInBatchRequest")


def test_one_byte_too_many(raw: Raw) -> None:
    url = raw.sqs.create()
    assert error(raw.query(send(url, MessageBody="x" * (MIB + 1)))) == refused("InvalidParameterValue")
    assert raw.query(send(url, MessageBody="x" * MIB)).status_code == 200


def test_one_mebibyte_of_escapes(raw: Raw) -> None:
    """The limit applies to the decoded text, although the encoded form is 3 MiB long."""
    url = raw.sqs.create()
    body = b"Action=SendMessage&QueueUrl=%b&MessageBody=%b" % (quote(url, safe="").encode(), MIB * b"%41")
    assert raw.query(body).status_code == 200
    assert len(raw.sqs.receive_one(url)["Body"]) == MIB


@pytest.mark.parametrize("binary", [False, True])
def test_the_largest_batch(raw: Raw, binary: bool) -> None:
    """The batch has ten messages with ten attributes each, which are 1 MiB long in total. In base64, the binary values
    are 1.4 MiB long."""
    parameters = {"Action": "SendMessageBatch", "QueueUrl": raw.sqs.create()}
    for number, message in enumerate(largest_batch(binary), 1):
        entry = f"SendMessageBatchRequestEntry.{number}"
        parameters |= {f"{entry}.Id": f"{number}", f"{entry}.MessageBody": message["MessageBody"]}
        for index, (name, value) in enumerate(message["MessageAttributes"].items(), 1):
            parameters[f"{entry}.MessageAttribute.{index}.Name"] = name
            for member, text in value.items():
                parameters[f"{entry}.MessageAttribute.{index}.Value.{member}"] = text
    response = raw.query(parameters)
    assert (response.status_code, response.text.count("<SendMessageBatchResultEntry>")) == (200, 10)


@pytest.mark.parametrize("text", ["%00", "a%00b", "%01", "%EF%BF%BF"])
def test_characters_that_cannot_be(raw: Raw, text: str) -> None:
    url = quote(raw.sqs.create(), safe="")
    response = raw.query(f"Action=SendMessage&QueueUrl={url}&MessageBody={text}".encode())
    assert error(response) == refused("InvalidMessageContents")


def test_a_request_of_seven_mebibytes(raw: Raw) -> None:
    response = raw.query(b"Action=SendMessage&MessageBody=" + b"x" * 7 * MIB)
    assert is_lambdas_refusal(raw, response) or error(response) == refused("RequestEntityTooLarge", 413)


@pytest.mark.parametrize(
    "name", ["'; drop schema queue cascade; --", "a\x00b", "../../etc/passwd", "%s%n", "${jndi:x}", "ä" * 80, "\u202e"]
)
def test_hostile_names(raw: Raw, name: str) -> None:
    assert error(raw.query({"Action": "CreateQueue", "QueueName": name})) == refused("InvalidParameterValue")
    assert error(raw.query({"Action": "GetQueueUrl", "QueueName": name})) == refused("InvalidParameterValue")
    listed = raw.query({"Action": "ListQueues", "QueueNamePrefix": name})
    assert (listed.status_code, "<QueueUrl>" in listed.text) == (200, False)


@pytest.mark.parametrize(
    "url",
    ["\x00", "http://x/000000000000/\x00", "file:///etc/passwd", "x" * 100_000, "http://[::1", "//", "<&>\"'", "ä/ö/ü"],
    ids=lambda url: repr(url[:20]),
)
def test_hostile_urls(raw: Raw, url: str) -> None:
    status, code, fault = error(raw.query({"Action": "ReceiveMessage", "QueueUrl": url}))
    assert (status, code, fault) == (400, "AWS.SimpleQueueService.NonExistentQueue", "Sender")


def test_texts_in_errors_are_escaped(raw: Raw) -> None:
    """The error escapes the text of the client, so the text cannot become markup."""
    response = raw.query({"Action": "<script>&"})
    assert "<script>" not in response.text
    assert "&lt;script&gt;&amp;" in response.text


# API Gateway routes methods and paths before Lambda calls a function.
CONTAINER = pytest.mark.parametrize("raw", ["container"], indirect=True)


@CONTAINER
@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE"])
def test_other_methods(raw: Raw, method: str) -> None:
    """The service performs no action and answers 404 or 405, never a server error."""
    response = raw.http.request(method, raw.sqs.endpoint_url + "/?Action=ListQueues")
    assert 400 <= response.status_code < 500


@CONTAINER
@pytest.mark.parametrize(
    "path", ["//", "/%00", "/000000000000/", "/000000000000/a/b", "/x" * 4000, "/..;/", "/%2e%2e/"]
)
def test_other_paths(raw: Raw, path: str) -> None:
    response = raw.query({"Action": "ReceiveMessage"}, path)
    assert 400 <= response.status_code < 500
