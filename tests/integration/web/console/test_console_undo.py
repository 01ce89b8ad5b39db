"""Tests how the console deletes messages, and offers the undo on every page for 30 seconds."""

import html
import re
import time
from typing import Any
from urllib.parse import urlencode

import httpx
import psycopg
import pytest

from tests.support.web.console import Console, ids, receive, visible

pytestmark = pytest.mark.xdist_group("console")

QUEUES = "arn:aws:sqs:us-east-1:000000000000:"


def delete(console: Console, name: str, **form: Any) -> dict[str, str]:
    """Deletes messages. Returns the parameters of the page that follows."""
    response = console.browser.post(f"/console/queues/{name}/messages/delete", **form, confirmed="yes")
    return {"location": response.headers["location"], **offered(response)}


def offered(response: httpx.Response) -> dict[str, str]:
    """Returns the deletion that the next pages offer to undo."""
    cookie = re.findall(r"_undo=([^;]*); Path=/console; Max-Age=(\d+); HttpOnly", response.headers["set-cookie"])
    ((value, seconds),) = cookie
    assert int(seconds) <= 30
    return dict(httpx.QueryParams(value))


def undo(console: Console, name: str, deletion: str) -> httpx.Response:
    return console.browser.post(f"/console/queues/{name}/messages/undo", deletion=deletion, state="visible")


def test_a_deletion_asks_with_the_number_and_can_be_undone(console: Console) -> None:
    url = console.queue("undone")
    for n in range(3):
        console.sqs.send_message(QueueUrl=url, MessageBody=str(n))
    receive(console, url)
    chosen = ids(console, "undone")[:2]
    asked = console.browser.post("/console/queues/undone/messages/delete", id=chosen, state="visible")
    assert (asked.status_code, visible(console, url)) == (200, 3)
    assert "Delete 2 messages of undone?" in asked.text
    assert len({*re.findall(r"<pre[^>]*>(\d)</pre>", asked.text)}) == 2
    assert re.search(r"<a [^>]*autofocus>Cancel</a>", asked.text)
    done = delete(console, "undone", id=chosen, state="visible")
    assert (done["number"], visible(console, url)) == ("2", 1)
    assert console.audit("sqs:DeleteMessage")[2:5] == (
        f"{QUEUES}undone", {"deletion": done["deletion"], "ids": [int(n) for n in chosen]}, 2
    )  # fmt: skip
    for path in (done["location"].removeprefix("/console"), "", "/audit", "/queues/undone/failures", "/queues"):
        page = console.page(path)
        assert "2 messages of undone deleted" in page
        assert f'name="deletion" value="{done["deletion"]}"' in page
    assert len(ids(console, "undone")) == 1
    back = undo(console, "undone", done["deletion"]).headers["location"]
    assert console.audit("penstock:UndoDeletion")[3:5] == ({"undone": done["deletion"]}, 2)
    restored = console.page(back.removeprefix("/console"))
    assert "Brought back: 2 messages." in restored
    assert sorted(re.findall(r'value="(\d+)"\s+aria-label="Select[^"]*" checked', restored)) == sorted(chosen)
    assert "data-undo" not in console.page("")
    assert sorted(ids(console, "undone")) == sorted({*ids(console, "undone"), *chosen})
    assert [message["Attributes"]["ApproximateReceiveCount"] for message in receive(console, url)] == ["2"] * 3
    again = undo(console, "undone", done["deletion"])
    assert (again.status_code, visible(console, url)) == (404, 3)
    assert "once, within 30 seconds" in again.text


def bar(console: Console, **changes: object) -> str:
    """Returns the bar of the undo, for a browser with this cookie."""
    cookie = {
        "queue": "counted-undo", "deletion": "x", "until": int(time.time()) + 20, "number": 2,
        "back": "/console/queues/counted-undo/messages", **changes,
    }  # fmt: skip
    name = f"penstock_console_{httpx.URL(console.service.url).port}_undo"
    own = {"cookie": f"{name}={urlencode(cookie)}", "accept": "text/html"}
    page = httpx.get(f"{console.service.url}/console/queues/counted-undo/messages/undo", headers=own)
    assert page.status_code == 200
    return page.text


def test_the_undo_shows_the_seconds_that_remain(console: Console) -> None:
    console.queue("counted-undo")
    (seconds,) = re.findall(r">(\d+) s</span>", bar(console))
    assert 1 <= int(seconds) <= 20
    assert re.search("<button data-undo>Undo <kbd>u</kbd>", bar(console))
    assert 'hx-trigger="every 1s' in bar(console)
    (most,) = re.findall(r">(\d+) s</span>", bar(console, until=10**11))
    assert int(most) == 30


@pytest.mark.parametrize(
    "wrong",
    [
        {"until": 1}, {"until": "x"}, {"until": ""}, {"number": "-1"}, {"until": "9" * 5000}, {"queue": "a/../b"},
        {"queue": ""}, {"queue": "x" * 81}, {"back": "https://example.com"}, {"back": "//example.com"},
        {"back": "/console/queues/a\r\nset-cookie: x"}, {"back": ""},
    ],
)  # fmt: skip
def test_a_cookie_that_the_console_did_not_write_offers_no_undo(console: Console, wrong: dict[str, object]) -> None:
    console.queue("counted-undo")
    page = bar(console, **wrong)
    assert "data-undo" not in page
    assert "can no longer be undone" in page


def test_a_deletion_and_its_undo_return_to_the_same_page(console: Console) -> None:
    """The page begins after the same message, or after the same place of a search, or is the page of the groups."""
    url = console.queue("paged-undo")
    for n in range(55):
        console.sqs.send_message(QueueUrl=url, MessageBody=f"x {n}")
    first = ids(console, "paged-undo")
    second = console.page(f"/queues/paged-undo/messages?after={first[-1]}")
    (here,) = re.findall('name="here" value="([^"]+)"', second)
    last = re.findall(r'type="checkbox" name="id" value="(\d+)"', second)
    assert (here, len(last)) == (first[-1], 5)
    own = "/console/queues/paged-undo/messages"
    asked = console.browser.post(f"{own}/delete", id=last[:2], state="visible", here=here).text
    assert f'href="{own}?state=visible&amp;after={here}"' in asked
    assert f'name="here" value="{here}"' in asked
    done = delete(console, "paged-undo", id=last[:2], state="visible", here=here)
    assert done["location"] == f"{own}?state=visible&after={here}&done=deleted"
    back = undo(console, "paged-undo", done["deletion"]).headers["location"]
    assert back.startswith(f"{own}?state=visible&after={here}&done=undone&n=2&id=")
    found = console.page("/queues/paged-undo/messages?text=x")
    place = html.unescape(re.findall('name="place" value="([^"]+)"', found)[0])
    done = delete(console, "paged-undo", id=last[:1], text="x", here=place)
    assert dict(httpx.URL(done["location"]).params) == {"text": "x", "place": place, "done": "deleted"}
    undo(console, "paged-undo", done["deletion"])
    done = delete(console, "paged-undo", id=last[:1], here="groups")
    assert done["location"] == "/console/queues/paged-undo/failures?done=deleted"
    back = undo(console, "paged-undo", done["deletion"]).headers["location"]
    assert back == "/console/queues/paged-undo/failures?done=undone&n=1"
    assert "Brought back: 1 message." in console.page(back.removeprefix("/console"))
    gone = console.browser.post(f"{own}/delete", id="1", here=here, confirmed="yes")
    assert gone.headers["location"].endswith(f"?after={here}&done=gone")
    assert "Nothing was deleted." in console.page(gone.headers["location"].removeprefix("/console"))


def test_an_undo_after_30_seconds_is_too_late(console: Console) -> None:
    url = console.queue("late-undo")
    console.sqs.send_message(QueueUrl=url, MessageBody="x")
    done = delete(console, "late-undo", id=ids(console, "late-undo"))
    with psycopg.connect(console.database.dsn) as db:
        db.execute("update queue.pending_deletion set deleted_at = deleted_at - interval '31 seconds'")
    assert undo(console, "late-undo", done["deletion"]).status_code == 404
    assert undo(console, "late-undo", "no uuid").status_code == 400
    assert visible(console, url) == 0


def test_all_messages_of_a_filter_are_deleted_only_on_request(console: Console) -> None:
    url = console.queue("delete-all")
    for n in range(4):
        console.sqs.send_message(QueueUrl=url, MessageBody=f"{'keep' if n % 2 else 'drop'} {n}")
    path = "/console/queues/delete-all/messages/delete"
    nothing = console.browser.post(path, text="drop", confirmed="yes", state="")
    assert nothing.headers["location"].endswith("/messages?text=drop&done=none")
    notice = '<p class="notice" role="status">No message is selected'
    assert notice in console.page("/queues/delete-all/messages?text=drop&done=none")
    assert visible(console, url) == 4
    asked = console.browser.post(path, text="drop", all="yes", confirmed="yes")
    assert "Delete 2 messages of delete-all?" in asked.text
    assert "<dt>text</dt><dd>drop</dd>" in asked.text
    assert visible(console, url) == 4
    delete(console, "delete-all", id=re.findall('name="id" value="([0-9]+)"', asked.text))
    assert sorted(message["Body"] for message in receive(console, url)) == ["keep 1", "keep 3"]
