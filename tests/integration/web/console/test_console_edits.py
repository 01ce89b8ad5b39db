"""Tests how the console edits and retries messages, deletes them with an undo, and keeps a selection over pages."""

import html
import json
import re
from typing import Any

import httpx
import psycopg
import pytest

from tests.support.conformance.access_keys import SIGV4, key_ring
from tests.support.database import TestServer
from tests.support.programs.penstock_service import running_service
from tests.support.web.console import Console, ConsoleClient, ids, receive, visible

pytestmark = pytest.mark.xdist_group("console")

QUEUES = "arn:aws:sqs:us-east-1:000000000000:"
BINARY = {"DataType": "Binary", "BinaryValue": b"\x00\xff"}
NUMBER = {"DataType": "Number.int", "StringValue": "7"}
FIFO = {"FifoQueue": "true"}


def fields(page: str) -> dict[str, Any]:
    """Returns the fields of the edit form as a browser would send them."""
    form = page.partition('class="stack edit"')[2].partition("</form>")[0]
    found: dict[str, Any] = {"attribute": [], "type": [], "value": []}
    for name, text in re.findall(r'<input[^>]*name="(\w+)"[^>]*?value="([^"]*)"', form):
        if name in ("attribute", "type", "value"):
            found[name].append(html.unescape(text))
        elif name != "remove":
            found[name] = html.unescape(text)
    body = re.search(r"<textarea[^>]*>\n?(.*?)</textarea>", form, re.DOTALL)
    assert body
    return {**found, "body": re.sub("\r\n|\r|\n", "\r\n", html.unescape(body[1]))}


def edit(console: Console, name: str, number: str, **changes: Any) -> httpx.Response:
    path = f"/queues/{name}/messages/{number}/edit"
    return console.browser.post(f"/console{path}", **{**fields(console.page(path)), **changes})


def problem(response: httpx.Response) -> str:
    """Returns the problem beside a field, or else the problem of the whole form."""
    found = re.search('class="problem"[^>]*>(.*?)</span>', response.text, re.DOTALL)
    found = found or re.search('role="alert">(.*?)</p>', response.text, re.DOTALL)
    assert found, response.text
    return html.unescape(" ".join(found[1].split()))


# --- one message -----------------------------------------------------------------------------------------------------
def test_a_dead_letter_is_edited_and_returns_to_its_source(console: Console) -> None:
    url, dead = console.poison(
        "fixed", '{"order":1.10,"zip":null}', MessageAttributes={"b": BINARY, "n": NUMBER, "old": NUMBER}
    )
    (number,) = ids(console, "fixed-dead")
    assert f"/messages/{number}/edit" in console.page(f"/queues/fixed-dead/messages/{number}")
    form = fields(console.page(f"/queues/fixed-dead/messages/{number}/edit"))
    assert (form["to"], form["body"]) == ("fixed", '{\r\n  "order": 1.10,\r\n  "zip": null\r\n}')
    assert form["attribute"][:3] == ["b", "n", "old"]
    response = edit(
        console, "fixed-dead", number, body=form["body"].replace("null", '"12"'), remove=["2"],
        attribute=["b", "n", "old", "new"], type=["Binary", "Number.int", "Number.int", "String"],
        value=["AP8=", "8", "7", "<b>"],
    )  # fmt: skip
    assert response.headers["location"] == "/console/queues/fixed-dead/messages?done=edited"
    assert "The edited copy was sent" in console.page("/queues/fixed-dead/messages?done=edited")
    (message,) = receive(console, url)
    assert message["Body"] == '{"order":1.10,"zip":"12"}'
    assert message["MessageAttributes"] == {
        "b": BINARY, "n": {**NUMBER, "StringValue": "8"}, "new": {"DataType": "String", "StringValue": "<b>"}
    }  # fmt: skip
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"
    assert "DeadLetterQueueSourceArn" not in message["Attributes"]
    assert visible(console, dead) == 0
    assert console.audit("sqs:SendMessage")[2:5] == (
        f"{QUEUES}fixed", {"edited": [int(number)], "from": "fixed-dead"}, 1
    )  # fmt: skip


def test_a_preview_shows_the_message_before_and_after_and_changes_nothing(console: Console) -> None:
    url = console.queue("previewed")
    console.sqs.send_message(QueueUrl=url, MessageBody='{"n":1,"zip":null}')
    (number,) = ids(console, "previewed")
    shown = edit(console, "previewed", number, body='{"n":1,"zip":"<12>"}', do="preview")
    assert shown.status_code == 200
    before, after = re.findall(r"<figure>(.*?)</figure>", shown.text, re.DOTALL)
    assert (f"Message {number}" in before, "Edited, to previewed" in after) == (True, True)
    assert re.findall("<mark>(.*?)</mark>", before) == ["  &#34;zip&#34;: null"]
    assert re.findall("<mark>(.*?)</mark>", after) == ["  &#34;zip&#34;: &#34;&lt;12&gt;&#34;"]
    assert fields(shown.text)["body"] == '{"n":1,"zip":"<12>"}'
    assert "Send it as it is?" in edit(console, "previewed", number, body="{", do="preview").text
    assert ids(console, "previewed") == [number]


@pytest.mark.parametrize("body", ['{"a": "\\ud83d",\n "n": 1e400}', "line 1\r\nline 2\r", "  {} ", "</textarea>&lt;"])
def test_an_unchanged_body_is_sent_byte_for_byte(console: Console, body: str) -> None:
    """A form turns line ends into CR LF, and pretty JSON would lose blanks and halves of surrogate pairs."""
    url = console.queue("kept")
    console.sqs.send_message(QueueUrl=url, MessageBody=body)
    (number,) = ids(console, "kept")
    assert edit(console, "kept", number).status_code == 303
    (message,) = receive(console, url)
    assert message["Body"] == body
    console.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def test_half_a_surrogate_pair_survives_the_edit_of_another_member(console: Console) -> None:
    url = console.queue("halves")
    console.sqs.send_message(QueueUrl=url, MessageBody='{"half":"\\ud83d","n":1}')
    (number,) = ids(console, "halves")
    assert edit(console, "halves", number, body='{"half":"\\ud83d","n":2}').status_code == 303
    assert receive(console, url, 600)[0]["Body"] == '{"half":"\\ud83d","n":2}'


def test_the_cause_of_the_failure_is_shown_and_not_sent_on(console: Console) -> None:
    dead = console.queue("caused-dead")
    cause = {"DataType": "String", "StringValue": "no <stock>"}
    console.sqs.send_message(QueueUrl=dead, MessageBody="x", MessageAttributes={"PenstockError": cause, "kept": NUMBER})
    (number,) = ids(console, "caused-dead")
    page = console.page(f"/queues/caused-dead/messages/{number}/edit")
    assert "Failed with: no &lt;stock&gt;" in page
    assert fields(page)["attribute"] == ["kept", ""]
    written = {"attribute": ["kept", "PenstockError"], "type": ["Number", "String"], "value": ["7", "again"]}
    assert edit(console, "caused-dead", number, **written).status_code == 303
    (message,) = receive(console, dead)
    assert list(message["MessageAttributes"]) == ["kept"]


def test_a_body_that_is_no_longer_json_asks_first(console: Console) -> None:
    url, dead = console.poison("broken", '{"a":1}')
    (number,) = ids(console, "broken-dead")
    typed = {"body": '{"a":1,\r\n oops}', "attribute": ["mine"], "type": ["String"], "value": ["typed"]}
    response = edit(console, "broken-dead", number, **typed)
    assert (response.status_code, visible(console, dead)) == (400, 1)
    assert "Line 2, column 2: A name in double quotes is expected. Send it as it is?" in problem(response)
    kept = fields(response.text)
    assert (kept["body"], kept["attribute"][0], kept["value"][0]) == (typed["body"], "mine", "typed")
    assert 'name="any_text" value="yes"' in response.text
    kept["any_text"] = "yes"
    assert console.browser.post(f"/console/queues/broken-dead/messages/{number}/edit", **kept).status_code == 303
    assert [message["Body"] for message in receive(console, url)] == ['{"a":1,\n oops}']
    # A text that never was JSON needs no question.
    plain = console.queue("plain")
    console.sqs.send_message(QueueUrl=plain, MessageBody="text")
    assert edit(console, "plain", ids(console, "plain")[0], body="other").status_code == 303


def test_a_message_that_another_receives_or_deletes_meanwhile_stays(console: Console) -> None:
    url = console.queue("raced")
    console.sqs.send_message(QueueUrl=url, MessageBody='{"a":1}')
    (number,) = ids(console, "raced")
    path = f"/console/queues/raced/messages/{number}/edit"
    typed = {**fields(console.page(path.removeprefix("/console"))), "body": '{"a": 2}'}
    (held,) = receive(console, url, 600)
    response = console.browser.post(path, **typed)
    assert (response.status_code, fields(response.text)["body"]) == (409, '{"a": 2}')
    assert "works on it" in problem(response)
    console.sqs.delete_message(QueueUrl=url, ReceiptHandle=held["ReceiptHandle"])
    response = console.browser.post(path, **typed)
    assert (response.status_code, fields(response.text)["body"]) == (404, '{"a": 2}')
    assert "does not exist" in problem(response)
    assert receive(console, url) == []
    assert console.browser.get(path).status_code == 404


def test_a_fifo_target_needs_a_group_and_a_new_deduplication_id(console: Console) -> None:
    url = console.queue("ordered.fifo", **FIFO)
    console.sqs.send_message(QueueUrl=url, MessageBody="1", MessageGroupId="g", MessageDeduplicationId="d1")
    (number,) = ids(console, "ordered.fifo")
    form = fields(console.page(f"/queues/ordered.fifo/messages/{number}/edit"))
    assert (form["group"], form["dedup"]) == ("g", "d1")
    refused = {
        "MessageGroupId": {"group": ""}, "last five minutes": {}, "ContentBasedDeduplication": {"dedup": ""},
        "There is no queue 'nowhere'.": {"to": "nowhere"},
    }  # fmt: skip
    for text, changes in refused.items():
        response = edit(console, "ordered.fifo", number, **changes)
        assert response.status_code in (400, 404, 409), text
        assert text in problem(response)
        assert visible(console, url) == 1
    assert edit(console, "ordered.fifo", number, body="2", dedup="d2").status_code == 303
    (message,) = receive(console, url)
    assert (message["Body"], message["Attributes"]["MessageGroupId"]) == ("2", "g")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"attribute": ["a", "a"], "type": ["String"] * 2, "value": ["1", "2"]}, "occurs twice"),
        ({"attribute": ["a"], "type": ["Number"], "value": ["x"]}, "to a number"),
        ({"attribute": ["b"], "type": ["Binary"], "value": ["%"]}, "not base64"),
        ({"body": "x\x01"}, "Invalid binary character"),
        ({"body": ""}, "MessageBody"),
        ({"to": "no such name!"}, "There is no queue 'no such name!'."),
    ],
)
def test_a_copy_that_cannot_be_sent_shows_the_reason_and_what_was_typed(
    console: Console, changes: dict[str, Any], text: str
) -> None:
    url = console.queue("refusing-edits")
    if not visible(console, url):
        console.sqs.send_message(QueueUrl=url, MessageBody="x")
    response = edit(console, "refusing-edits", ids(console, "refusing-edits")[0], **changes)
    assert response.status_code in (400, 404)
    assert text in problem(response)
    kept = fields(response.text)
    for name, value in changes.items():
        assert kept[name][: len(value)] == value if isinstance(value, list) else kept[name] == value
    assert visible(console, url) == 1


def test_the_edit_of_one_message_returns_to_the_same_page_and_filter(console: Console) -> None:
    """The form and the filter both have fields named `value` and `group`."""
    console.queue("returning")
    with psycopg.connect(console.database.dsn) as connection:
        connection.execute("select queue.send('returning', '{\"a\": 1}') from generate_series(1, 60)")
    first = console.page("/queues/returning/messages")
    last = re.findall('data-row data-edit="[^"]*/messages/([0-9]+)/edit', first)[-1]
    for query, back in (
        ("", ""), (f"?after={last}", f"?after={last}"), ("?path=a&amp;value=1", "?path=a&value=1"),
        ("?path=a&amp;value=1&amp;group=", "?path=a&value=1"),
    ):  # fmt: skip
        page = console.page(f"/queues/returning/messages{html.unescape(query)}")
        path = html.unescape(re.findall('data-row data-edit="/console([^"]*)"', page)[0])
        form = console.page(path)
        posted = html.unescape(form.partition('<form method="post" action="/console/queues/')[2].partition('"')[0])
        response = console.browser.post(f"/console/queues/{posted}", **fields(form), any_text="yes")
        separator = "&" if back else "?"
        assert response.headers["location"] == f"/console/queues/returning/messages{back}{separator}done=edited"


def test_the_edit_of_a_sample_returns_to_the_groups(console: Console) -> None:
    console.poison("regrouped", "1")
    page = console.page("/queues/regrouped-dead/failures")
    path = re.findall(r'href="/console([^"]*/edit[^"]*)">edit<', page)[0]
    response = console.browser.post(f"/console{path}", **fields(console.page(path)))
    assert response.headers["location"] == "/console/queues/regrouped-dead/failures?done=edited"
    assert "The edited copy was sent" in console.page("/queues/regrouped-dead/failures?done=edited")


def test_a_target_that_does_not_exist_is_told_beside_its_field(console: Console) -> None:
    console.queue("targetless")
    form = {"all": "yes", "new_path": "a", "new_value": "1", "new_to": "nowhere", "to": "nowhere", "rate": "7"}
    console.sqs.send_message(QueueUrl=console.queue("targetless"), MessageBody='{"a": 0}')
    for act, kept in (("replace", 'name="new_to" value="nowhere"'), ("redrive", 'name="rate" value="7"')):
        response = console.browser.post(f"/console/queues/targetless/{act}", **form)
        assert response.status_code in (400, 404), act
        assert problem(response) == "There is no queue 'nowhere'.", act
        assert kept in response.text


def test_a_body_of_a_mebibyte_is_edited(console: Console) -> None:
    url = console.queue("large")
    body = '"' * 1_048_575 + "x"  # A form sends three bytes for each of these characters.
    console.sqs.send_message(QueueUrl=url, MessageBody=body)
    (number,) = ids(console, "large")
    assert edit(console, "large", number, body=f"{body}y").status_code == 400
    assert edit(console, "large", number, body=f"{body[:-1]}y").status_code == 303
    (message,) = receive(console, url)
    assert message["Body"] == f"{body[:-1]}y"


# --- rights ----------------------------------------------------------------------------------------------------------
def test_an_edit_needs_rights_on_both_queues(postgres: TestServer) -> None:
    """The operator may receive and delete in one queue, and send to another queue, but not back to the first."""
    statements = [
        {"Effect": "Allow", "Action": ["sqs:ReceiveMessage", "sqs:DeleteMessage"], "Resource": f"{QUEUES}dead"},
        {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": f"{QUEUES}allowed"},
    ]
    with postgres.database() as database, running_service(database.api_dsn, **SIGV4) as service:
        with key_ring(database) as ring:
            list(ring.set_user("ann", [json.dumps({"Statement": statements})], None, new=True))
            key = ring.create(None, "", bearer=True, user="ann").token
            root = {"authorization": f"Bearer {ring.create(None, '', bearer=True, user=None).token}"}
        with service.http() as http:
            for name in ("dead", "allowed", "other"):
                http.post("/v1/queues", json={"name": name}, headers=root).raise_for_status()
            sent = http.post("/v1/queues/dead/messages", json={"message": {"a": 1}}, headers=root).json()["id"]
            path = f"/v1/queues/dead/messages/{sent}/edit"
            mine = {"authorization": f"Bearer {key}"}
            for to in ("dead", "other", None):
                refused = http.post(path, json={"message": 2, "to": to}, headers=mine)
                assert (refused.status_code, refused.json()["error"]["code"]) == (403, "unauthorized")
            body = {"filter": {}, "path": "a", "value": 2}
            stayed = http.post("/v1/queues/dead/messages/replace", json=body, headers=mine).json()
            assert (stayed["replaced"], sum(stayed["stayed"].values())) == (0, 1)
            refused = http.post("/v1/queues/dead/messages/replace", json={**body, "to": "other"}, headers=mine)
            assert refused.status_code == 403
            browser = ConsoleClient(service)
            browser.sign_in(key)
            form = {"body": "2", "to": "other"}
            assert "not authorized" in browser.post(f"/console/queues/dead/messages/{sent}/edit", **form).text
            assert http.post(path, json={"message": 2, "to": "allowed"}, headers=mine).status_code == 201
            found = http.get("/v1/queues/allowed/messages/peek", headers=root).json()
            assert [message["message"] for message in found] == [2]


def test_a_reader_sees_no_acts(postgres: TestServer) -> None:
    with postgres.database() as database, running_service(
        database.api_dsn, QUEUE_CONSOLE="read"
    ) as service, service.http() as http:  # fmt: skip
        http.post("/v1/queues", json={"name": "q"}).raise_for_status()
        sent = http.post("/v1/queues/q/messages", json={"message": {"a": 1}}).json()["id"]
        browser = ConsoleClient(service)
        for path in ("messages", f"messages/{sent}", "failures"):
            page = browser.get(f"/console/queues/q/{path}").text.partition("<main")[2]
            assert "data-edit" not in page, path
            assert "Delete" not in page, path
        for path in (f"messages/{sent}/edit", "replace", "messages/delete", "messages/undo"):
            assert browser.post(f"/console/queues/q/{path}", id=str(sent), body="x").status_code == 403
