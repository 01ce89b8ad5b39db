"""Provides a console in front of a service, a browser without a screen, harmful texts, and a reader of HTML."""

import json
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import islice, product
from typing import Any
from xml.etree import ElementTree as ET

import httpx
import psycopg

from penstock_web.console.console import list_screens
from tests.support.conformance.access_keys import key_ring
from tests.support.database import Database
from tests.support.programs.penstock_service import Service


def pictures(page: str) -> dict[str, ET.Element]:
    """Returns the pictures by their descriptions. Raises an error if a picture is not XML."""
    found = [ET.fromstring(text) for text in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]
    return {picture.get("aria-label", ""): picture for picture in found if picture.get("role") == "img"}


def of_class(picture: ET.Element, name: str) -> list[ET.Element]:
    """Returns a picture's elements with the given CSS class."""
    return [element for element in picture.iter() if name in element.get("class", "").split()]


def table(page: str, kind: str) -> list[dict[str, str]]:
    """Returns the rows of the first table with the given CSS class, by column head. A picture becomes `(picture)`."""
    match = re.search(rf'<table class="{kind}".*?</table>', page, re.DOTALL)
    if match is None:
        return []
    text = re.sub(r"<svg.*?</svg>", "(picture)", match[0], flags=re.DOTALL)
    heads, *rows = [
        [_text(cell) for cell in re.findall(r"<(?:th|td)[ >].*?</(?:th|td)>", row, re.DOTALL)]
        for row in re.findall(r"<tr.*?</tr>", text, re.DOTALL)
    ]
    return [dict(zip(heads, row, strict=True)) for row in rows]


def _text(markup: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", markup).split())


@dataclass
class Barriers(HTMLParser):
    """Finds accessibility faults (rules of WCAG 2.2 that can be checked in the markup)."""

    found: list[str] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if re.fullmatch(r"h[1-6]", tag):
            self._heading(int(tag[1]))
        if tag == "html" and not known.get("lang"):
            self.found.append("html without lang")
        if tag == "th" and known.get("scope") not in ("col", "row"):
            self.found.append("th without scope")
        if tag == "svg" and known.get("aria-hidden") != "true" and not known.get("aria-label"):
            self.found.append("svg without a name")
        if int(known.get("tabindex") or 0) > 0:
            self.found.append("tabindex above 0")
        if "id" in known:
            self.found += ["an id twice"] * (known["id"] in self.ids)
            self.ids.append(known["id"] or "")

    def _heading(self, level: int) -> None:
        if level > (self.levels[-1] if self.levels else 0) + 1:
            self.found.append(f"h{level} follows h{self.levels[-1] if self.levels else 0}")
        self.levels.append(level)


def barriers(page: str) -> list[str]:
    """Returns the page's accessibility faults."""
    reader = Barriers()
    reader.feed(page)
    if reader.levels.count(1) != 1:
        reader.found.append("not one h1")
    if page.count("<main>") != 1:
        reader.found.append("not one main")
    return reader.found


class ConsoleClient:
    """Calls one service as a browser does, with cookies and an origin."""

    def __init__(self, service: Service) -> None:
        self.url = service.url
        # The client keeps no connection, so a test need not close any.
        limits = httpx.Limits(max_keepalive_connections=0)
        self.http = httpx.Client(base_url=service.url, timeout=60, verify=False, limits=limits)

    def get(self, path: str, **headers: str) -> httpx.Response:
        """Returns a page. The client does not follow redirects."""
        return self.http.get(path, headers={"accept": "text/html", **headers})

    def post(self, path: str, origin: str | None = None, **form: object) -> httpx.Response:
        """Submits a form from a page with the given origin. None means the service's origin."""
        return self.http.post(path, data=form, headers={"origin": self.url if origin is None else origin})

    def sign_in(self, key: str, secret: str = "") -> httpx.Response:
        """Signs in and keeps the cookie."""
        return self.post("/console/sign-in", key=key, secret=secret)


SINKS = ("window.pwned=1", "alert(1)", "fetch('//example.com')")
FORMS = (
    "<script>{0}</script>",
    '"><script>{0}</script>',
    "'><img src=x onerror={0}>",
    "<svg/onload={0}>",
    "javascript:{0}",
    "</title><script>{0}</script>",
    "</textarea><script>{0}</script>",
    "</pre><script>{0}</script>",
    '<a href="javascript:{0}">x</a>',
    '<iframe srcdoc="<script>{0}</script>">',
    "[[constructor.constructor('{0}')()]]",
    "$[{0}]",
    "[% raw %][[7*7]]{0}",
    '<img src=x style="x:expression({0})">',
    "<style>*[background:url(//x)]</style>{0}",
    "<link rel=stylesheet href=//example.com/x.css>{0}",
    "<base href=//example.com/>{0}",
    "<meta http-equiv=refresh content=0>{0}",
    "<form action=//example.com><button>{0}</form>",
    "<div hx-get=/console hx-trigger=load>{0}</div>",
    '<div hx-on:click={0} hx-vals="js:[x:{0}]">',
    "<template shadowrootmode=open>{0}</template>",
    "\u202e{0}\u202c",
    "&lt;{0}&#x3c;",
    "]]><!--{0}-->",
    "`{0}`",
    '\\"{0}\\"',
    "%3Cscript%3E{0}",
)
"""Brackets stand for braces."""
AROUND = ("{0}", '["a": "{0}"]', "a\n{0}", "x" * 300 + "{0}", "{0}{0}{0}", "\t {0} ", '("{0}",1)', "\u00e9{0}\u6f22",
          "{0}\r\n", "'{0}", '"{0}', "<{0}")  # fmt: skip


def hostile_texts(number: int) -> list[str]:
    """Returns `number` different texts without forbidden characters."""
    texts = [
        around.replace("{0}", form.replace("{0}", sink)).replace("[", "{").replace("]", "}")
        for around, form, sink in islice(product(AROUND, FORMS, SINKS), number)
    ]
    assert len(set(texts)) == number
    return texts


@dataclass
class Console:
    """Contains a service with its console, a signed-in browser, and an SQS client."""

    database: Database
    service: Service
    browser: ConsoleClient
    sqs: Any

    def queue(self, name: str, **attributes: str) -> str:
        return str(self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"])

    def poison(self, name: str, *bodies: str, fifo: bool = False, **message: Any) -> tuple[str, str]:
        """Makes dead letters of the queue `name`. Returns the URLs of the queue and its dead-letter queue."""
        suffix, more = (".fifo", {"FifoQueue": "true", "ContentBasedDeduplication": "true"}) if fifo else ("", {})
        dead = self.queue(f"{name}-dead{suffix}", **more)
        arn = self.sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
        url = self.queue(f"{name}{suffix}", RedrivePolicy=policy, **more)
        for body in bodies:
            self.sqs.send_message(QueueUrl=url, MessageBody=body, **message)
        # On a busy machine, a receive may return nothing although messages are visible.
        while self.count(dead) < len(bodies):
            self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0)
        return url, dead

    def count(self, url: str) -> int:
        """Returns the number of visible messages of a queue."""
        asked = ["ApproximateNumberOfMessages"]
        return int(self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=asked)["Attributes"][asked[0]])

    def page(self, path: str) -> str:
        response = self.browser.get(f"/console{path}")
        assert response.status_code == 200, response.text
        return response.text

    def audit(self, action: str) -> tuple[Any, ...]:
        with psycopg.connect(self.database.dsn) as connection:
            row = connection.execute(
                "select actor, key_id, target, details, affected, interface, changes from queue.audit"
                " where action = %s order by audit_id desc limit 1", (action,)
            ).fetchone()  # fmt: skip
        assert row is not None
        return row


USERS = ("read", "operate", "admin")
"""The users with a built-in policy."""


NO_PAGES = {"/", "/console/static/{file}", "/console/queues/{name}/messages/export"}
"""The paths of routes with GET that respond with a redirection or a file."""


def list_page_paths(**values: str) -> list[str]:
    """Returns the path of each page of the console. The values replace the names in the paths. A page without a value
    for a name is omitted."""
    paths = [screen.path.replace(":path", "") for screen in list_screens() if screen.method == "GET"]
    return [
        path.format(**values)
        for path in paths
        if path not in NO_PAGES and set(re.findall(r"{(\w+)}", path)) <= values.keys()
    ]


@dataclass
class ConsoleInstallation:
    """Contains a service that requires keys, and a bearer key for each user."""

    database: Database
    service: Service
    keys: dict[str, str]

    @staticmethod
    def may_see(client: ConsoleClient) -> bool:
        """Returns whether the browser receives a page other than the sign-in page."""
        return client.get("/console/queues").status_code == 200

    def browser(self, role: str) -> ConsoleClient:
        """Returns a browser. If `role` is one of the users, the user has signed in."""
        client = ConsoleClient(self.service)
        if role in self.keys:
            assert client.sign_in(self.keys[role]).status_code == 303
        return client


def bearer(database: Database, user: str | None) -> str:
    """Creates a bearer key as the command line does, and returns it with its secret."""
    with key_ring(database) as ring:
        return ring.create(None, "", bearer=True, user=user).token


def build_form(name: str) -> dict[str, str]:
    """Returns fields that are valid in every form, for the queue, topic, schedule or user with the given name."""
    url = "http://127.0.0.1/"
    return {
        "name": name, "typed": name, "status": "paused", "state": "enabled", "id": "1", "body": "x", "queue": name,
        "deletion": "00000000-0000-4000-8000-000000000000", "new_path": "a", "new_value": "1",
        "function": url, "endpoint": url, "user": name, "expression": "rate(1 hour)", "target": name,
        "resource": "queue", "hours": "1",
    }  # fmt: skip


def ids(console: Console, name: str, query: str = "") -> list[str]:
    """Returns the ids of the messages that a page of a queue's messages lists."""
    page = console.page(f"/queues/{name}/messages{query}")
    return re.findall('<input type="checkbox" name="id" value="([0-9]+)"', page)


def end_undo_time(console: Console) -> None:
    """Makes the copies of edits visible, as 30 seconds later."""
    with psycopg.connect(console.database.dsn) as db:
        db.execute("update queue.side set visible_at = visible_at - interval '30 seconds' where receive_count = 0")


def receive(console: Console, url: str, visibility: int = 0) -> list[dict[str, Any]]:
    found = console.sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], AttributeNames=["All"],
        VisibilityTimeout=visibility,
    )  # fmt: skip
    return list(found.get("Messages", []))


def visible(console: Console, url: str) -> int:
    found = console.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return int(found["ApproximateNumberOfMessages"])
