"""Tests the console's screens, which show the messages and attributes of a queue and have forms that change them."""

import html
import json
import re
from urllib.parse import parse_qsl, urlencode

import pytest

from tests.support.wait import wait_until
from tests.support.web.console import Console, table

pytestmark = pytest.mark.xdist_group("console")

HOSTILE = "<script>alert(1)</script>\"'&{{7*7}}`|"
QUEUES = "arn:aws:sqs:us-east-1:000000000000:"


def test_messages_are_looked_at_and_nothing_changes(console: Console) -> None:
    url = console.queue("looked-at")
    attributes = {"tenant": {"DataType": "String", "StringValue": HOSTILE}}
    console.sqs.send_message(
        QueueUrl=url, MessageBody=json.dumps({"n": 1.10, "t": HOSTILE}), MessageAttributes=attributes
    )
    text = console.page("/queues/looked-at/messages")
    assert "alert(1)" in text
    assert "<script>alert" not in text
    assert "49" not in text.partition("<main")[2].partition("49")[0]  # {{7*7}} is text
    path = text.partition('class="preview" href="/console')[2].partition('"')[0]
    shown = console.page(path)
    assert "&#34;n&#34;: 1.1" in shown
    assert "<script>alert" not in shown
    assert "sqs.send_message(" in shown
    assert "AmazonSQS.SendMessage" in shown
    (message,) = console.sqs.receive_message(QueueUrl=url, AttributeNames=["All"])["Messages"]
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"


def test_a_copy_is_sent_and_the_chosen_are_deleted(console: Console) -> None:
    url = console.queue("copied")
    sent = console.sqs.send_message(
        QueueUrl=url, MessageBody="line 1\nline 2", MessageAttributes={"a": {"DataType": "Number", "StringValue": "7"}}
    )
    path = console.page("/queues/copied/messages").partition('class="preview" href="/console')[2].partition('"')[0]
    number = path.rpartition("/")[2]
    form = console.page(f"/queues/copied/send?copy={number}")
    assert "line 1\nline 2</textarea>" in form
    assert 'value="Number"' in form
    console.browser.post(
        "/console/queues/copied/send", body="line 1\r\nline 2", copy=number, attribute="a", type="Number", value="7"
    )
    assert console.audit("sqs:SendMessage")[2:5] == (f"{QUEUES}copied", {"copy_of": number}, 1)
    messages = console.sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], VisibilityTimeout=0
    )["Messages"]
    assert [(m["Body"], m["MessageAttributes"]["a"]["StringValue"]) for m in messages] == [("line 1\nline 2", "7")] * 2
    assert len({m["MessageId"] for m in messages}) == 2
    assert sent["MessageId"] in {m["MessageId"] for m in messages}
    response = console.browser.post(
        "/console/queues/copied/messages/delete", id=[number, "999"], state="visible", confirmed="yes"
    )
    assert response.headers["location"].endswith("?state=visible&done=deleted")
    assert "number=1&" in response.headers["set-cookie"]
    details, counted = console.audit("sqs:DeleteMessage")[3:5]
    assert (details["ids"], counted) == ([int(number), 999], 1)
    assert console.browser.get(f"/console{path}").status_code == 404


@pytest.mark.parametrize("path", ["/messages/0x1", "/messages/99999999999999999999", "/messages?state=x&after=-1"])
def test_addresses_of_nothing(console: Console, path: str) -> None:
    console.queue("nothing")
    assert console.browser.get(f"/console/queues/nothing{path}").status_code in (200, 404)
    assert console.browser.get(f"/console/queues/is-not-there{path}").status_code == 404


@pytest.mark.parametrize(
    ("form", "status"),
    [({"body": ""}, 400), ({"body": "x", "delay": "901"}, 400), ({"body": "x", "delay": "-1"}, 400),
     ({"body": "x\x01"}, 400), ({"body": "x", "attribute": "AWS.x", "type": "String", "value": "1"}, 400)],
)  # fmt: skip
def test_a_message_that_cannot_be_sent_shows_the_reason(console: Console, form: dict[str, str], status: int) -> None:
    console.queue("refusing")
    response = console.browser.post("/console/queues/refusing/send", **form)
    assert response.status_code == status
    assert 'role="alert"' in response.text
    assert "Traceback" not in response.text
    assert "No message is visible" in console.page("/queues/refusing/messages")


@pytest.mark.parametrize(
    ("query", "found"),
    [("text=needle", ["n2"]), ("path=a.n&value=1", ["n1"]), ("path=a.n&value=%222%22", ["n2"]), ("attr=tenant", ["n1"]),
     ("attr=tenant&attr_value=x", []), ("group=g", ["n2"]), ("max_receives=0", ["n1", "n2"]),
     ("state=delayed&text=n", [])],
)  # fmt: skip
def test_messages_by_a_filter_in_the_address(console: Console, query: str, found: list[str]) -> None:
    url = console.queue("filtered")
    if "No message is visible" in console.page("/queues/filtered/messages"):
        tenant = {"tenant": {"DataType": "String", "StringValue": "acme"}}
        console.sqs.send_message(QueueUrl=url, MessageBody='{"a":{"n":1},"is":"n1"}', MessageAttributes=tenant)
        console.sqs.send_message(QueueUrl=url, MessageBody='{"a":{"n":"2"},"is":"n2 needle"}', MessageGroupId="g")
    text = console.page(f"/queues/filtered/messages?{query}")
    assert [name for name in ("n1", "n2") if f"&#34;{name}" in text] == found
    assert "examined 2 of" in text


def test_a_filter_that_cannot_be_says_so(console: Console) -> None:
    console.queue("filtered")
    for query, sentence in {
        "min_receives=many": "“receives at least” expects a whole number from 0 to 2,147,483,647, and not 'many'.",
        "older=1y": "“in the queue for longer than” expects a time of at most 30 days, such as 30s, 5m, 1h or 2d,"
        " and not '1y'.",
    }.items():
        response = console.browser.get(f"/console/queues/filtered/messages?{query}")
        assert response.status_code == 400
        assert f"The filter {sentence}" in html.unescape(response.text)
        assert f'value="{query.partition("=")[2]}"' in response.text


def check_export(console: Console) -> None:
    exported = console.browser.get("/console/queues/grouped/messages/export")
    assert "attachment" in exported.headers["content-disposition"]
    assert sorted(str(json.loads(line)["message"]) for line in exported.text.splitlines()) == [
        "not json",
        "{'order': 1, 'same': 's'}",
        "{'order': 2, 'same': 's'}",
    ]
    assert len(console.browser.get("/console/queues/grouped/messages/export?text=json").text.splitlines()) == 1


def test_dead_letters_in_groups_with_what_differs_marked(console: Console) -> None:
    url, dead = console.poison("grouped", '{"order":1,"same":"s"}', '{"order":2,"same":"s"}', "not json")
    text = console.page("/queues/grouped-dead/failures")
    assert "2 groups: examined 3" in text
    group = text.partition("2 messages</a>")[2].partition("</section>")[0]
    assert group.count("<mark>") == 2
    assert "<mark>  &#34;order&#34;: 1,</mark>" in group
    assert "&#34;same&#34;" not in "".join(re.findall("<mark>(.*?)</mark>", group))
    assert "**2 dead letters in grouped-dead**" in group
    path = re.findall(r'href="/console(/queues/grouped-dead/messages[?][^"]+)">2 messages', text)[0]
    assert "2 messages of this shape: examined 3 of 3" in console.page(path.replace("&amp;", "&"))
    assert "3 messages" in console.page("/queues/grouped-dead/failures?by=source")
    # All messages move back to their source queues.
    path = "/console/queues/grouped-dead/redrive"
    form = re.findall(rf'href="({path}[?][^"]+)"', text)
    shape = form[0].partition("shape=")[2].partition("&")[0]
    for bad in ({"rate": "501"}, {"rate": "x"}, {"id": "x"}, {"shape": "x"}, {"first": "0"}):
        assert console.browser.post(path, **bad).status_code == 400
    # The task first moves one message of a group, and moves the other message when the operator continues the task.
    assert "Redrive 2 messages?" in console.page(form[0].removeprefix("/console").replace("&amp;", "&"))
    assert console.browser.post(path, shape=shape, source="grouped", rate="500", first="1").status_code == 303
    assert console.audit("sqs:StartMessageMoveTask")[2:4] == (
        f"{QUEUES}grouped-dead",
        {"filter": {"source_queue": "grouped", "shape": shape}, "per_second": 500, "canary": 1},
    )
    wait_until(lambda: ">waiting<" in console.page("/queues/grouped-dead/redrive"))
    waiting = console.page("/queues/grouped-dead/redrive?done=redriving")
    assert "The move waits. Look at the moved message, and then continue or stop the move." in " ".join(waiting.split())
    assert re.findall(r'data-label="(?:Moved|Total)">(\d+)<|<progress max="2" (value="1")', waiting) == [
        ("1", ""), ("2", ""), ("", 'value="1"'),
    ]  # fmt: skip
    assert '<span class="fact"><span class="quiet">from</span> grouped</span>' in waiting
    move = re.findall("redrive/([0-9a-f-]{36})/continue", console.page("/queues/grouped-dead/redrive"))[0]
    assert visible(console, url) == 1
    assert console.browser.post(f"{path}/{move}/continue").status_code == 303
    wait_until(lambda: ">completed<" in console.page("/queues/grouped-dead/redrive"))
    ended = console.page("/queues/grouped-dead/redrive?done=redriving")
    assert "The move is running." not in waiting + ended
    assert re.findall(r'data-label="(?:Moved|Total)">(\d+)<|<progress max="1" (value="1")', ended) == [
        ("2", ""), ("2", ""), ("", 'value="1"'),
    ]  # fmt: skip
    assert (visible(console, url), visible(console, dead)) == (2, 1)
    assert console.browser.post(f"{path}/{move}/cancel").status_code == 409
    # A task for one chosen message leaves that message in place if the operator cancels the task.
    rest = console.page("/queues/grouped-dead/messages")
    chosen = re.findall('name="id" value="([0-9]+)"', rest)
    assert "1 chosen message" in console.page(f"/queues/grouped-dead/redrive?id={chosen[0]}")
    assert console.browser.post(path, id=chosen[0]).status_code == 303
    wait_until(lambda: visible(console, url) == 3)
    check_export(console)


def test_causes_are_shown_and_sought_in_the_list_of_messages(console: Console) -> None:
    cause = "<script>alert(1)</script>\"'& 7"
    url, other = console.queue("caused"), console.queue("causeless")
    attribute = {"PenstockError": {"DataType": "String", "StringValue": f"{cause}\nat line 3"}}
    console.sqs.send_message(QueueUrl=url, MessageBody="bad", MessageAttributes=attribute)
    for queue in (url, other):
        console.sqs.send_message(QueueUrl=queue, MessageBody="good")
    text = console.page("/queues/caused/messages")
    rows = table(text, "messages")
    causes = {row["Message"]: html.unescape(row["Cause"]) for row in rows}
    assert causes == {"bad": cause, "good": ""}
    assert "<script>alert" not in text
    assert "Cause" not in table(console.page("/queues/causeless/messages"), "messages")[0]
    paths = set(re.findall(r'href="/console(/queues/caused/messages/[0-9]+)', text))
    shown = {path: html.unescape(console.page(path)) for path in paths}
    (bad,) = (path for path, page in shown.items() if f"data-cause>{cause}</p>" in page)
    assert shown[bad].index("data-cause") < shown[bad].index('id="body"')
    (link,) = re.findall('class="cause"[^>]*><a href="([^"]+)"', text)
    found = console.page(f"/queues/caused/messages{html.unescape(link)}")
    assert [row["Message"] for row in table(found, "messages")] == ["bad"]
    # A user types the error with its number.
    found = console.page(f"/queues/caused/messages?{urlencode({'cause': cause})}")
    assert [row["Message"] for row in table(found, "messages")] == ["bad"]
    assert (
        f'name="cause" value="{html.escape(cause, quote=True).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")}"'
        in found
    )
    assert "None of the examined" in console.page("/queues/caused/messages?cause=other")
    (row,) = table(console.page("/queues/caused/messages?no_cause=1"), "messages")
    assert row["Message"] == "good"
    found = console.page(f"/queues/caused/messages?{urlencode({'cause': cause, 'no_cause': '1'})}")
    assert [row["Message"] for row in table(found, "messages")] == ["bad"]


def test_a_move_without_source_queues_asks_for_a_destination(console: Console) -> None:
    ordinary = console.queue("ordinary")
    console.sqs.send_message(QueueUrl=ordinary, MessageBody="m")
    page = console.page("/queues/ordinary/redrive")
    assert "1 of 1 message has no source queue" in page
    assert re.search('<input name="to"[^>]* required autofocus', page)
    assert re.search(r'Queues</a> \u203a <a href="/console/queues/ordinary">ordinary</a> \u203a Redrive', page)
    refused = console.browser.post("/console/queues/ordinary/redrive", all="yes", first="1")
    assert refused.status_code == 400
    assert re.search(
        '<span class="problem" id="problem-to"[^>]*>No message was moved. 1 of 1 message has', refused.text
    )
    assert "This queue has no recent moves" in refused.text
    # Some dead letters of a queue can return, and others cannot.
    url, dead = console.poison("partly", "a", "b")
    console.sqs.send_message(QueueUrl=dead, MessageBody="direct")
    wait_until(lambda: "1 of 3 messages has no source queue" in console.page("/queues/partly-dead/redrive"))
    assert "These stay here, unless you choose a queue." in console.page("/queues/partly-dead/redrive")
    assert console.browser.post("/console/queues/partly-dead/redrive", all="yes").status_code == 303
    wait_until(lambda: ">moved a part</span>" in console.page("/queues/partly-dead/redrive"))
    # A move that moves nothing is no success.
    console.sqs.receive_message(QueueUrl=dead, VisibilityTimeout=60)
    (held,) = re.findall('name="id" value="([0-9]+)"', console.page("/queues/partly-dead/messages?state=in_flight"))
    assert console.browser.post("/console/queues/partly-dead/redrive", id=held, to="partly").status_code == 303
    wait_until(lambda: '<span class="badge bad">moved none</span>' in console.page("/queues/partly-dead/redrive"))
    for queue in (ordinary, url, dead):
        console.sqs.delete_queue(QueueUrl=queue)


def test_a_move_shows_its_filter_as_text(console: Console) -> None:
    hostile = "<script>alert(1)</script>{{7*7}}"
    dead, other = console.queue("filtered-dead"), console.queue("filtered-other")
    console.sqs.send_message(QueueUrl=dead, MessageBody=hostile)
    with console.service.http() as http:
        wanted = {"text": hostile, "json": {"path": "a.b", "equals": hostile}, "attribute": {"name": "n"}, "cause": ""}
        body = {"filter": {**wanted, "min_receive_count": 0}, "to": "filtered-other"}
        http.post("/v1/queues/filtered-dead/moves", json=body).raise_for_status()
    text = console.page("/queues/filtered-dead/redrive")
    assert "<script>alert" not in text
    shown = html.unescape(text)
    for name, value in {"text": hostile, "JSON": f"a.b = {hostile}", "attribute": "n", "cause": "none"}.items():
        assert f'<span class="quiet">{name}</span> {value}</span>' in shown
    assert visible(console, other) == 0


def test_the_form_of_a_move_shows_whether_the_target_is_consumed(console: Console) -> None:
    console.poison("watched", "a", "b")
    path = "/queues/watched-dead/redrive"
    shown = '<dt>Source queue</dt><dd><a href="/console/queues/watched">watched</a> '
    assert shown in console.page(path)
    assert console.browser.post("/console/queues/watched/pause", status="paused").status_code == 303
    assert f'{shown}<span class="badge warn">paused</span>' in " ".join(console.page(path).split())


@pytest.mark.parametrize(("end", "kind"), [("deleted", ""), ("deleted", ".fifo")])
def test_a_move_shows_what_became_of_its_first_message(console: Console, end: str, kind: str) -> None:
    """The message says whether the handler works now, so the focus is on its link and not on "Continue"."""
    own = {"FifoQueue": "true", "ContentBasedDeduplication": "true"} if kind else {}
    name = f"proven{kind}"
    dead = console.queue(f"proven-dead{kind}", **own)
    policy = json.dumps({"deadLetterTargetArn": f"{QUEUES}proven-dead{kind}", "maxReceiveCount": 3})
    url = console.queue(name, RedrivePolicy=policy, **own)
    path = f"/queues/proven-dead{kind}/redrive"
    group = {"MessageGroupId": "g"} if kind else {}
    for body in ("1", "2"):
        console.sqs.send_message(QueueUrl=dead, MessageBody=body, **group)
    form = {"all": "yes", "first": "1", "to": name}
    assert console.browser.post(f"/console{path}", **form).status_code == 303

    def states() -> list[str]:
        found = re.findall(rf'autofocus>message \d+</a> to {name}: <span class="badge \w*">(.*?)<', console.page(path))
        return [" ".join(state.split()) for state in found]

    wait_until(lambda: states() == ["waiting"])
    page = console.page(path)
    assert page.count("autofocus") == 1
    assert f"{name}: " in page
    assert '<span class="badge warn">no known receive</span>' in " ".join(page.split())
    assert "<button>Continue</button>" in page
    link = html.unescape(re.findall(r'href="/console(/queues/[^"]+/life[^"]+)" autofocus', page)[0])
    assert "Life of a message" in console.page(link)
    (held,) = console.sqs.receive_message(QueueUrl=url)["Messages"]
    assert states() == ["received 1 time"]
    console.sqs.delete_message(QueueUrl=url, ReceiptHandle=held["ReceiptHandle"])
    assert states() == [end]
    assert '<button class="main">Continue</button>' in console.page(path)
    move = re.findall("redrive/([0-9a-f-]{36})/continue", page)[0]
    assert console.browser.post(f"/console{path}/{move}/continue").status_code == 303
    wait_until(lambda: ">completed<" in console.page(path))
    assert states() == []


def test_a_move_shows_that_its_first_message_died_again(console: Console) -> None:
    dead = console.queue("relapsed-dead")
    policy = json.dumps({"deadLetterTargetArn": f"{QUEUES}relapsed-dead", "maxReceiveCount": 1})
    url = console.queue("relapsed", RedrivePolicy=policy)
    for body in ("1", "2", "3", "4"):
        console.sqs.send_message(QueueUrl=dead, MessageBody=body)
    form = {"all": "yes", "canary": "3", "to": "relapsed"}
    assert console.browser.post("/console/queues/relapsed-dead/redrive", **form).status_code == 303
    wait_until(lambda: ">waiting</span>" in console.page("/queues/relapsed-dead/redrive"))
    while console.count(dead) < 4:
        console.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0)
    page = console.page("/queues/relapsed-dead/redrive")
    assert page.count('<span class="badge bad">dead-lettered again</span>') == 3  # the first three


def test_messages_are_filtered_by_their_time_in_the_queue(console: Console) -> None:
    url = console.queue("aged")
    console.sqs.send_message(QueueUrl=url, MessageBody="now")
    for given, shown in (("newer=1h", 1), ("newer=90", 1), ("older=1h", 0), ("older=2d&newer=3d", 0), ("older=0s", 1)):
        assert len(table(console.page(f"/queues/aged/messages?{given}"), "messages")) == shown, given
    for wrong in ("1w", "-1", "h", "99999999999", "<b>"):
        assert console.browser.get(f"/console/queues/aged/messages?older={wrong}").status_code == 400
    page = console.page("/queues/aged/messages?newer=1h")
    assert 'name="newer" value="1h"' in page
    assert "Message group" in page
    form = {"all": "yes", "newer": "1h", "selected": "yes"}
    asked = console.browser.post("/console/queues/aged/messages/delete", **form).text
    assert "<dt>in the queue for less than</dt><dd>1h</dd>" in asked


def test_attributes_are_changed_once_the_difference_was_seen(console: Console) -> None:
    url, path = console.queue("changing", VisibilityTimeout="30"), "/console/queues/changing/attributes"

    def timeout() -> str:
        found = console.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["VisibilityTimeout"])
        return str(found["Attributes"]["VisibilityTimeout"])

    form = {
        name: html.unescape(value)
        for name, value in re.findall(
            'name="([A-Za-z_]+)" value="([^"]*)"', console.page("/queues/changing/attributes")
        )
    }
    assert "already has these values" in console.browser.post(path, **form).text
    form["VisibilityTimeout"] = "90"
    shown = console.browser.post(path, **form)
    assert (shown.status_code, timeout()) == (200, "30")
    assert "<del><code>30 seconds</code></del>" in shown.text
    assert '<ins><code><span title="90 seconds">1 minute 30 seconds</span></code></ins>' in shown.text
    console.sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "31"})
    confirmed = {**form, "confirmed": "yes", "before.VisibilityTimeout": "30"}
    assert "in the meantime" in console.browser.post(path, **confirmed).text
    assert timeout() == "31"
    confirmed["before.VisibilityTimeout"] = "31"
    assert console.browser.post(path, **confirmed).status_code == 303
    assert timeout() == "90"
    assert console.audit("sqs:SetQueueAttributes")[2] == f"{QUEUES}changing"
    assert console.audit("sqs:SetQueueAttributes")[6] == {"VisibilityTimeout": ["31", "90"]}
    form["VisibilityTimeout"] = "-1"
    assert (
        console.browser.post(path, **{**form, "confirmed": "yes", "before.VisibilityTimeout": "90"}).status_code == 400
    )


def visible(console: Console, url: str) -> int:
    found = console.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return int(found["ApproximateNumberOfMessages"])


def dead_letters_with_reasons(console: Console, name: str, *bodies: str) -> None:
    """Makes dead letters with the bodies, then two with one reason, and then three with another reason."""
    url, dead = console.poison(name, *bodies)
    for reason, number, total in (("timeout", 2, len(bodies) + 2), ("stolen", 3, len(bodies) + 5)):
        attributes = {"reason": {"DataType": "String", "StringValue": reason}}
        for _ in range(number):
            console.sqs.send_message(QueueUrl=url, MessageBody='{"n": 1}', MessageAttributes=attributes)
        while console.count(dead) < total:
            console.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0)


def test_a_title_is_true_of_messages_that_are_no_samples(console: Console) -> None:
    """The page shows the three newest messages of a group. Its title, and the titles of the questions before an act,
    are also true of the other messages. Groups by the attribute have its texts as titles.
    """
    dead_letters_with_reasons(console, "untrue")
    path = "/queues/untrue-dead/failures"
    page = console.page(path)
    group = page.partition("mixed reason: stolen, timeout <span")[2].partition("</section>")[0]
    assert group.count("<dd>stolen</dd>") == 3
    assert ">5 messages</a>" in group
    assert asked_titles(console, "untrue-dead", page) == ["mixed reason: stolen, timeout"] * 2
    page = console.page(f"{path}?by=attribute&attribute=reason&by=shape")
    assert re.findall(r'<h2 id="group.">(.*?) <span', page) == ["reason: stolen", "reason: timeout"]
    assert asked_titles(console, "untrue-dead", page) == ["reason: stolen", "reason: stolen"]


def test_a_group_is_split_by_what_has_few_values(console: Console) -> None:
    """Each value leads to its messages. Values that differ in all messages, such as ids, split no group."""
    console.poison("split", *(f'{{"order": {n}, "to": {{"country": "{"XX" if n < 2 else "DE"}"}}}}' for n in range(7)))
    dead_letters_with_reasons(console, "split-reasons")
    for name, by, counts in (
        ("split", "to.country", {"DE": "5 messages", "XX": "2 messages"}),
        ("split-reasons", "attribute reason", {"stolen": "3 messages", "timeout": "2 messages"}),
    ):
        page = console.page(f"/queues/{name}-dead/failures")
        ((found, parts),) = re.findall(
            '<details class="split"><summary>Split by (.*?)</summary>(.*?)</details>', page, re.DOTALL
        )
        rows = re.findall(r'<a href="/console([^"]+)">(.*?)</a>\s+<span class="quiet">(.*?)</span>', parts)
        assert (found, {value: number for _, value, number in rows}) == (by, counts)
        for link, _, number in rows:
            listed = re.findall('<input type="checkbox" name="id"', console.page(html.unescape(link)))
            assert len(listed) == int(number.split()[0])


def asked_titles(console: Console, name: str, page: str) -> list[str]:
    """Returns the title of the page's first group in the questions before a redrive and before a deletion."""
    link = re.findall(f'href="/console(/queues/{name}/redrive[?][^"]+)"', page)[0]
    form = {"all": "yes", **dict(parse_qsl(html.unescape(link).partition("?")[2]))}
    asked = console.browser.post(f"/console/queues/{name}/messages/delete", **form).text
    shown = console.page(html.unescape(link))
    assert f'<a href="/console/queues/{name}/failures">Cancel</a>' in shown
    return [re.findall("<dt>group</dt><dd>(.*?)</dd>", each)[0] for each in (shown, asked)]


def test_a_group_that_a_move_takes_offers_no_second_act(console: Console) -> None:
    dead_letters_with_reasons(console, "taken", '{"other": 1}')
    path = "/queues/taken-dead/redrive"
    link = re.findall(f'href="/console({path}[?][^"]+)"', console.page("/queues/taken-dead/failures"))[0]
    form = dict(parse_qsl(html.unescape(link).partition("?")[2]))
    assert console.browser.post(f"/console{path}", **form, first="1").status_code == 303
    wait_until(lambda: ">waiting<" in console.page(path))
    taken, other = re.findall("<section.*?</section>", console.page("/queues/taken-dead/failures"), re.DOTALL)
    assert "redrive waits: 1 of 5 moved" in " ".join(taken.split())
    assert not re.search("data-(redrive|edit|delete)", taken)
    assert re.findall("data-(redrive|edit|delete)", other) == ["edit", "delete"]
    row = " ".join(console.page(path).partition('<td class="selected"')[2].partition("</td>")[0].split())
    assert "a group: mixed reason: stolen, timeout" in row
    assert "none" not in row
    move = re.findall("redrive/([0-9a-f-]{36})/cancel", console.page(path))[0]
    assert console.browser.post(f"/console{path}/{move}/cancel").status_code == 303
    wait_until(lambda: "moved</a>" not in console.page("/queues/taken-dead/failures"))
    assert console.page("/queues/taken-dead/failures").count("data-redrive") >= 2
