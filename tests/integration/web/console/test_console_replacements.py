"""Tests how the console replaces a value in many messages, and how it shows a selection of messages."""

import html
import json
import re
from typing import Any
from urllib.parse import quote

import httpx
import psycopg
import pytest

from tests.support.web.console import Console, end_undo_time, ids, receive, visible

from .test_console_edits import problem

pytestmark = pytest.mark.xdist_group("console")


def test_a_value_is_replaced_in_all_messages_of_a_filter(console: Console) -> None:
    bodies = [f'{{"order": {n}, "customer": {{"zip": null}}}}' for n in range(5)]
    url, dead = console.poison("many", *bodies, '{"order": 9}', "no json")
    page = console.page("/queues/many-dead/failures")
    link = html.unescape(re.findall('href="/console(/queues/many-dead/replace[^"]+)"', page)[0])
    assert 'name="new_path"' in console.page(link)
    form = {"all": "yes", "min_receives": "0", "new_path": "customer.zip", "new_value": "01234"}
    path = "/console/queues/many-dead/replace"
    preview = console.browser.post(path, **form)
    assert preview.status_code == 200, problem(preview)
    assert "Preview: 5 messages have this path" in preview.text
    assert "2 messages without this path" in preview.text
    assert preview.text.count("<figure>") == 6
    assert preview.text.count("<mark>    &#34;zip&#34;: &#34;01234&#34;</mark>") == 3
    assert (visible(console, url), visible(console, dead)) == (0, 7)
    assert "Did you mean" not in preview.text
    wrong = console.browser.post(path, **{**form, "new_path": "customer.zpi"})
    assert "Did you mean <code>customer.zip</code>?" in wrong.text
    assert re.search('<input name="new_path" [^>]*autofocus aria-invalid="true"', wrong.text)
    assert "<code>order</code>" in wrong.text
    done = console.browser.post(path, **form, confirmed="yes")
    assert "Sent 5 edited messages" in done.text
    assert "2 messages without this path" in done.text
    end_undo_time(console)
    assert sorted(message["Body"] for message in receive(console, url)) == [
        body.replace("null", '"01234"') for body in bodies
    ]
    assert visible(console, dead) == 2
    assert console.audit("sqs:SendMessage")[4] == 5
    row = console.page("/audit").partition("<tr data-row>")[2].partition("</tr>")[0]
    assert '<span class="quiet">path</span> customer.zip<' in row
    assert '<span class="quiet">value</span> &#34;01234&#34;<' in row
    shown, folded = re.findall(r"edited</span> 5: ([\d, ]+)</span><details[^>]*><summary>.*?</summary>([\d, ]+)", row)[
        0
    ]
    assert (len(shown.split(", ")), len(folded.split(", "))) == (3, 2)


@pytest.mark.parametrize(
    ("old", "typed", "as_text", "shown", "warning"),
    [
        ("null", "12345", "", "<code>12345</code> (number)", ""),
        ("null", "12345", "yes", "<code>&#34;12345&#34;</code> (string)", ""),
        ('"1"', "12345", "", "<code>12345</code> (number)", "type at this path: string, not number"),
        ('"1"', "12345", "yes", "<code>&#34;12345&#34;</code> (string)", ""),
        ("1", "true", "", "<code>true</code> (boolean)", "type at this path: number, not boolean"),
        ("1", "a <b>", "", "<code>&#34;a &lt;b&gt;&#34;</code> (string)", "type at this path: number, not string"),
    ],
)
def test_a_preview_shows_the_type_and_warns_of_another_type(
    console: Console, old: str, typed: str, as_text: str, shown: str, warning: str
) -> None:
    url = console.queue("typed-edits")
    console.sqs.send_message(QueueUrl=url, MessageBody=f'{{"zip": {old}}}')
    form = {"all": "yes", "new_path": "zip", "new_value": typed, "as_text": as_text}
    page = " ".join(console.browser.post("/console/queues/typed-edits/replace", **form).text.split())
    assert shown in page
    assert ("have another type" in page, warning in page) == (bool(warning), True)
    assert ('name="as_text" value="yes" checked' in page) == bool(as_text)
    assert console.browser.post("/console/queues/typed-edits/replace", **form, confirmed="yes").status_code == 200
    end_undo_time(console)
    (message,) = receive(console, url)
    console.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    assert message["Body"] == f'{{"zip": {html.unescape(re.findall("<code>(.*?)</code>", shown)[0])}}}'


def test_the_form_of_a_group_shows_samples_and_the_number(console: Console) -> None:
    """The user sees what the group looks like before the first preview. No fact is shown twice."""
    url, dead = console.poison("sampled", *(f'{{"n": {n}, "zip": null}}' for n in range(5)))
    page = console.page("/queues/sampled-dead/failures")
    link = html.unescape(re.findall('href="/console(/queues/sampled-dead/replace[^"]+)"', page)[0])
    form = console.page(link)
    assert "Edit 5 messages" in form
    assert "the messages of a filter" not in form
    assert len(re.findall(r"<pre[^>]*>\{\s+&#34;n&#34;: \d,", form)) == 3
    fields = {**httpx.URL(link).params, "new_path": "zip", "new_value": "1"}
    preview = console.browser.post("/console/queues/sampled-dead/replace", **fields).text
    assert "Preview: 5 messages have this path" in preview
    done = console.browser.post("/console/queues/sampled-dead/replace", **fields, confirmed="yes").text
    assert "Sent 5 edited messages" in done
    assert "messages like" not in done
    assert "<h1>Edited</h1>" in done
    assert 'href="/console/queues/sampled-dead/failures"' in done
    end_undo_time(console)
    assert (visible(console, url), visible(console, dead)) == (5, 0)


def test_a_cause_is_named_once(console: Console) -> None:
    url, _ = console.poison("caused-once")
    cause = "ValueError: no customer 7"
    console.sqs.send_message(QueueUrl=url, MessageBody='{"n": 1}')
    console.sqs.send_message(QueueUrl=url, MessageBody='{"m": 1}')
    with console.service.http() as http:
        for message in receive(console, url, 60):
            path = f"/v1/queues/caused-once/messages/{quote(message['ReceiptHandle'], safe='')}/fail"
            http.post(path, json={"error": cause, "vt": 0}).raise_for_status()
    assert not console.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages")
    page = console.page("/queues/caused-once-dead/failures")
    link = html.unescape(re.findall('href="/console(/queues/caused-once-dead/replace[^"]+)"', page)[0])
    facts = console.page(link).partition("<dl")[2].partition("</dl>")[0]
    assert facts.count("ValueError") == 1


def test_one_message_is_edited_before_the_others(console: Console) -> None:
    url, dead = console.poison("canary-edits", *(f'{{"n": {n}, "zip": null}}' for n in range(3)))
    path = "/console/queues/canary-edits-dead/replace"
    first, *others = ids(console, "canary-edits-dead")
    form: dict[str, Any] = {"id": [first, *others], "new_path": "zip", "new_value": '"1"'}
    preview = console.browser.post(path, **form).text
    assert f'<button class="main" name="one" value="{first}">Send one first</button>' in preview
    page = console.browser.post(path, **form, one=first).text
    assert (visible(console, url), visible(console, dead)) == (1, 2)
    assert 'name="confirmed" value="yes">Send the other 2 edited messages</button>' in page
    assert 'class="main"' not in page
    assert re.findall('<input type="hidden" name="id" value="([0-9]+)"', page) == others
    life = re.findall(r'href="/console(/queues/canary-edits/messages/\d+/life)" autofocus', page)[0]
    assert '<span id="state">visible</span>' in console.page(life)
    details = console.audit("sqs:SendMessage")[3]
    assert (details["edited"], details["path"], details["value"]) == ([int(first)], "zip", '"1"')
    # The message is gone, so a repetition sends nothing.
    assert console.browser.post(path, **form, one=first).status_code == 404
    assert console.browser.post(path, **{**form, "id": others, "new_path": "zpi"}, one=others[0]).status_code == 400
    assert (visible(console, url), visible(console, dead)) == (1, 2)
    done = console.browser.post(path, **{**form, "id": others}, confirmed="yes").text
    assert "Sent 2 edited messages" in done
    end_undo_time(console)
    console.sqs.send_message(QueueUrl=dead, MessageBody='{"zip": 0}')
    (only,) = ids(console, "canary-edits-dead")
    alone = console.browser.post(path, **{**form, "id": only, "new_to": "canary-edits-dead"}, one=only)
    assert alone.headers["location"] == "/console/queues/canary-edits-dead/messages?done=edited"
    assert sorted(message["Body"] for message in receive(console, url)) == [
        f'{{"n": {n}, "zip": "1"}}' for n in range(3)
    ]


@pytest.mark.parametrize(
    ("cause", "path"),
    [
        ("$.customer.zip: null is not of type string", "customer.zip"), ("no customer.zip.", "customer.zip"),
        ("'zip' is missing", "zip"), ("no zip, no customer", ""), ("null is not of type string", ""),
        ("customer.zipped is unknown", ""),
    ],
)  # fmt: skip
def test_the_form_offers_the_paths_of_the_samples_and_that_of_the_cause(
    console: Console, cause: str, path: str
) -> None:
    dead = console.queue("named-paths")
    body = '{"customer": {"zip": null}, "zip": 1}'
    attributes = {"PenstockError": {"DataType": "String", "StringValue": cause}}
    console.sqs.send_message(QueueUrl=dead, MessageBody=body, MessageAttributes=attributes)
    page = console.page(f"/queues/named-paths/replace?id={ids(console, 'named-paths')[-1]}")
    assert re.findall('<input name="new_path" value="(.*?)"', page) == [path]
    offered = re.findall(
        '<option value="(.*?)">', page.partition('<datalist id="paths">')[2].partition("</datalist>")[0]
    )
    assert offered == ["customer", "zip", "customer.zip"]


def test_chosen_messages_are_replaced_and_others_stay(console: Console) -> None:
    url = console.queue("chosen-edits")
    for n in range(3):
        console.sqs.send_message(QueueUrl=url, MessageBody=json.dumps({"n": n}))
    first, second, _ = ids(console, "chosen-edits")
    path = "/console/queues/chosen-edits/replace"
    form: dict[str, Any] = {
        "id": [first, second, "999"],
        "new_path": "n",
        "new_value": '{"deep": [1.50]}',
        "new_to": "chosen-edits",
    }
    assert "Edit 2 messages" in console.page(f"/queues/chosen-edits/replace?id={first}&id={second}&selected=yes")
    done = console.browser.post(path, **form, confirmed="yes")
    assert "Sent 2 edited messages" in done.text
    assert "1 message: The message does not exist." in done.text
    end_undo_time(console)
    assert sorted(message["Body"] for message in receive(console, url)) == [
        '{"n": 2}', '{"n": {"deep": [1.50]}}', '{"n": {"deep": [1.50]}}'
    ]  # fmt: skip
    for wrong in ({"new_path": ""}, {"new_path": "x" * 1025}, {"new_to": "none"}, {"id": "x"}):
        response = console.browser.post(path, **{**form, **wrong}, confirmed="yes")
        assert response.status_code in (200, 400, 404)
        assert "Sent" not in response.text or "Sent 0" in response.text
    assert visible(console, url) == 3


def test_an_edit_of_many_has_a_rate_and_can_be_undone(console: Console) -> None:
    url, dead = console.poison("undone-edits", *(f'{{"n": {n}}}' for n in range(5)))
    form: dict[str, Any] = {"id": ids(console, "undone-edits-dead"), "new_path": "n", "new_value": "9", "rate": "2"}
    path = "/console/queues/undone-edits-dead"
    refused = console.browser.post(f"{path}/replace", **{**form, "rate": "501"}, confirmed="yes")
    assert (refused.status_code, "per_second" in refused.text) == (400, True)
    done = console.browser.post(f"{path}/replace", **form, confirmed="yes")
    assert "after 30 seconds, 2 a second." in " ".join(done.text.split())
    assert "5 messages of undone-edits-dead edited</span>" in console.page("")
    assert (visible(console, url), visible(console, dead)) == (0, 0)
    with psycopg.connect(console.database.dsn) as db:
        waits = db.execute(
            "select round(extract(epoch from s.visible_at - min(s.sent_at) over ()))::int from queue.side s"
            " join queue.queues q using (queue_id) where q.arn like '%:undone-edits' order by s.id"
        ).fetchall()
    assert waits == [(30,), (30,), (31,), (31,), (32,)]
    details = console.audit("sqs:SendMessage")[3]
    (deletion,) = re.findall('name="deletion" value="([^"]+)"', done.text)
    assert (details["deletion"], details["per_second"]) == (deletion, 2)
    back = console.browser.post(f"{path}/messages/undo", deletion=deletion).headers["location"]
    assert back.startswith(f"{path}/messages?done=undone&n=5&")
    assert sorted(message["Body"] for message in receive(console, dead)) == [f'{{"n": {n}}}' for n in range(5)]
    end_undo_time(console)
    assert visible(console, url) == 0
    assert console.browser.post(f"{path}/messages/undo", deletion=deletion).status_code == 404


def test_no_page_names_a_group_by_a_hash(console: Console) -> None:
    """The pages that ask about a group name it by its title, or by a body if it has no title."""
    bodies = ('{"a": 1}', '{"error": "a <b>"}', "not json")
    console.poison("titled", *bodies)
    page = console.page("/queues/titled-dead/failures")
    titles = re.findall(r"<h2 id=\"group\d\">(.*?) <span", page)
    links = [html.unescape(link) for link in re.findall('href="/console(/queues/titled-dead/redrive[?][^"]+)"', page)]
    hashes = [httpx.URL(link).params["shape"] for link in links]
    assert len(hashes) == 3
    for link, digest in zip(links, hashes, strict=True):
        form = {"all": "yes", **httpx.URL(link).params}
        asked = console.browser.post("/console/queues/titled-dead/messages/delete", **form).text
        for shown in (console.page(link), console.page(link.replace("redrive", "replace") + "&all=yes"), asked):
            facts = dict(re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", shown))
            assert digest not in str(facts)
            assert facts.get("group") in titles or facts["messages like"] in map(html.escape, bodies)
            assert facts["cause"] == "none"


def test_nothing_selected_does_nothing(console: Console) -> None:
    url, dead = console.poison("nothing-chosen", "x")
    for act in ("redrive", "replace"):
        response = console.browser.get(f"/console/queues/nothing-chosen-dead/{act}?selected=yes&text=x&state=visible")
        assert "done=none" in response.headers["location"]
    assert console.browser.post("/console/queues/nothing-chosen-dead/redrive", rate="5").status_code == 400
    assert "Redrive all 1 message of nothing-chosen-dead?" in " ".join(
        console.page("/queues/nothing-chosen-dead/redrive").split()
    )
    assert (visible(console, url), visible(console, dead)) == (0, 1)


def test_a_selection_survives_paging(console: Console) -> None:
    console.queue("paged")
    with psycopg.connect(console.database.dsn, autocommit=True) as db:
        db.execute("select queue.send('paged', to_jsonb(n)) from generate_series(1, 60) n")
    first = ids(console, "paged")
    assert len(first) == 50
    page = console.page("/queues/paged/messages")
    assert "select all 60" in page
    after = re.findall('name="after" value="([0-9]+)"', page)[0]
    following = console.page(f"/queues/paged/messages?after={after}&id={first[0]}&id={first[3]}")
    hidden = re.findall('<input type="hidden" name="id" value="([0-9]+)"', following)
    assert hidden == [first[0], first[3]]
    assert re.search(r'data-chosen="2">\s*<span>2</span> selected', following)
    back = console.page(f"/queues/paged/messages?id={first[0]}&id={hidden[1]}")
    assert len(re.findall(r'name="id" value="\d+"\s+aria-label="[^"]+" checked', back)) == 2
    everything = console.page("/queues/paged/messages?all=yes&state=visible")
    assert "All 60" in everything
    assert '<input type="hidden" name="all" value="yes">' in everything
