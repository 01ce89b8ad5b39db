"""Tests the page about the life of a message, and its links."""

import html
import json
import re

import psycopg
import pytest

from tests.support.wait import wait_until
from tests.support.web.console import Console, barriers, table

pytestmark = pytest.mark.xdist_group("console")

HOSTILE = "<script>alert(1)</script>\"'&{{7*7}}"
NEVER = "00000000-0000-4000-8000-000000000000"


def fail_once(console: Console, name: str) -> tuple[str, str]:
    """Sends a message and reports a failure. Returns the message's id, and the path of its life."""
    url = console.queue(name, PenstockTrace="true")
    console.sqs.send_message(QueueUrl=url, MessageBody="m")
    (message,) = console.sqs.receive_message(QueueUrl=url)["Messages"]
    with console.service.http() as http:
        (peeked,) = http.get(f"/v1/queues/{name}/messages/peek?state=in_flight").json()
        (held,) = http.get(f"/v1/queues/{name}/messages/{peeked['id']}").json()["events"][1:]
        assert held["what"] == "received"
    with psycopg.connect(console.database.dsn) as db:
        db.execute(
            "select queue.fail(%s, %s, %s)", (f"arn:aws:sqs:us-east-1:000000000000:{name}", peeked["id"], HOSTILE)
        )
    return message["MessageId"], f"/queues/{name}/messages/{peeked['id']}/life"


def test_a_life_with_a_hostile_error(console: Console) -> None:
    message_id, path = fail_once(console, "lived")
    text = console.page(path)
    rows = table(text, "life")
    assert [row["Event"].split()[0] for row in rows] == ["sent", "received", "failed"]
    assert "boto" in rows[1]["Details"].lower()
    assert "alert(1)" in text
    assert "<script>alert" not in text
    assert "{{7*7}}" in text
    assert message_id in text
    assert ">in flight</span>" in text
    assert barriers(text) == ["not one main"]  # The page's element has attributes.
    assert f'href="/console{path}"' in console.page(path.removesuffix("/life"))
    assert f'href="/console{path}"' in console.page("/queues/lived/messages?state=in_flight")
    assert f'href="/console{path}"' in console.page("/queues/lived/messages?text=m")


def test_the_search_field_takes_a_message_id(console: Console) -> None:
    message_id, path = fail_once(console, "sought")
    found = console.browser.get(f"/console/queues?q=+{message_id}")
    assert (found.status_code, found.headers["location"]) == (303, f"/console/messages/{message_id}")
    life = console.browser.get(found.headers["location"])
    assert (life.status_code, life.headers["location"]) == (303, f"/console{path}?id={message_id}")
    assert message_id in console.browser.get(life.headers["location"]).text
    link = re.findall(
        r'href="/console(/queues/sought/[^"]+/life)">Show', console.page(f"/queues/sought/messages?text={message_id}")
    )
    assert message_id in console.page(link[0])


def test_a_number_in_the_search_field_belongs_to_a_queue(console: Console) -> None:
    console.queue("numbered")
    page = console.page("/queues?q=103681")
    assert "The number of a message belongs to a queue" in page
    assert "belongs to a queue" not in console.page("/queues?q=numbered")
    sought = console.page("/queues/numbered/messages?text=103681")
    assert 'href="/console/queues/numbered/messages/103681/life">Show' in sought


def test_a_life_without_a_trace_says_what_is_not_known(console: Console) -> None:
    dead = console.queue("untraced-dead")
    arn = console.sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    url = console.queue("untraced", RedrivePolicy=json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1}))
    console.sqs.send_message(QueueUrl=url, MessageBody="m")
    while not console.count(dead):
        console.sqs.receive_message(QueueUrl=url, VisibilityTimeout=0)
    path = re.findall(r'class="preview" href="/console([^"]+)"', console.page("/queues/untraced-dead/messages"))[0]
    text = console.page(f"{path}/life")
    assert [row["Event"] for row in table(text, "life")] == ["sent", "received no. 1", "became a dead letter"]
    assert "The receivers in untraced are not known" in text
    assert 'href="/console/queues/untraced/attributes"' in text


def test_a_redriven_message_that_died_again_was_not_edited(console: Console) -> None:
    dead = console.queue("redone-dead")
    arn = console.sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    url = console.queue("redone", RedrivePolicy=json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1}))
    console.sqs.send_message(QueueUrl=url, MessageBody="m")
    letter: dict[str, object] = {}
    with console.service.http() as http:
        for turn in range(2):
            while not console.count(dead):
                console.sqs.receive_message(QueueUrl=url, VisibilityTimeout=0)
            (letter,) = http.get("/v1/queues/redone-dead/messages/peek").json()
            if turn == 0:
                http.post("/v1/queues/redone-dead/moves", json={"ids": [letter["id"]]}).raise_for_status()
                wait_until(lambda: http.get("/v1/queues/redone").json()["visible"] == 1)
    text = console.page(f"/queues/redone-dead/messages/{letter['id']}/life")
    assert "Id before the redrive" in text
    assert "Id before the edit" not in text
    details = [row["Details"] for row in table(text, "life") if row["Event"] in ("became a dead letter", "moved")]
    sources = [re.match("from ([a-z-]+)", detail) for detail in details]
    assert [source and source[1] for source in sources] == ["redone", "redone-dead", "redone"]
    assert "In redone-dead since" in text
    (former,) = re.findall('before the redrive</dt><dd><a href="(/console/messages/[^"]+)"', text)
    place = console.browser.get(former).headers["location"]
    assert place.startswith(f"/console/queues/redone-dead/messages/{letter['id']}/life?id=")
    assert table(console.page(place.removeprefix("/console")), "life") == table(text, "life")


@pytest.mark.parametrize("message", ["0", NEVER, "0x1", "%3Cscript%3E", "%00", "-1", "9" * 20])
def test_lives_of_no_message(console: Console, message: str) -> None:
    console.queue("lifeless")
    for path in (f"/console/queues/lifeless/messages/{message}/life", f"/console/messages/{message}"):
        response = console.browser.get(path)
        assert response.status_code == 404, path
        assert "Traceback" not in response.text
        assert "<script>alert" not in response.text
    assert "looked at all" in console.browser.get(f"/console/messages/{NEVER}").text


def test_an_undone_deletion_is_in_the_life(console: Console) -> None:
    url = console.queue("undone-life")
    console.sqs.send_message(QueueUrl=url, MessageBody="m")
    number = re.findall('name="id" value="([0-9]+)"', console.page("/queues/undone-life/messages"))[0]
    path = "/console/queues/undone-life/messages"
    gone = console.browser.post(f"{path}/delete", id=number, confirmed="yes")
    deletion = re.findall("deletion=([0-9a-f-]+)", gone.headers["set-cookie"])[0]
    assert console.browser.post(f"{path}/undo", deletion=deletion).status_code == 303
    rows = table(console.page(f"/queues/undone-life/messages/{number}/life"), "life")
    details = [row["Details"] for row in rows if html.unescape(row["Event"]) == "a person's act"]
    assert [text.split()[0] for text in details] == ["sqs:DeleteMessage", "penstock:UndoDeletion"]
    assert console.audit("penstock:UndoDeletion")[3] == {"undone": deletion}


def test_the_life_of_an_edited_message_links_to_the_copy(console: Console) -> None:
    url = console.queue("linked")
    console.sqs.send_message(QueueUrl=url, MessageBody="m")
    number = re.findall('name="id" value="([0-9]+)"', console.page("/queues/linked/messages"))[0]
    assert console.browser.post(f"/console/queues/linked/messages/{number}/edit", body="n").status_code == 303
    text = console.page(f"/queues/linked/messages/{number}/life")
    (row,) = [row for row in table(text, "life") if row["Event"] == "edited and sent again"]
    copy = row["Details"].removeprefix("as ")
    assert f'href="/console/messages/{copy}"' in text
    found = console.browser.get(f"/console/messages/{copy}").headers["location"]
    shown = console.page(found.removeprefix("/console"))
    assert "edited copy" in [row["Event"] for row in table(shown, "life")]
    assert "Id before the edit" in shown
    assert "sent the original" in [row["Event"] for row in table(shown, "life")]
