"""Tests access to the console: the users that can sign in, the allowed client addresses, and the rights of each
role."""

import json
import re
from fnmatch import fnmatchcase

import httpx
import psycopg
import pytest

from penstock.access.users import OPERATE, READ
from penstock.management.rights import PUBLIC
from penstock_web.console.console import list_screens
from tests.support.conformance.access_keys import SIGV4, key_ring, new_key
from tests.support.database import Database
from tests.support.programs.penstock_service import running_service
from tests.support.web.console import USERS, ConsoleClient, ConsoleInstallation, bearer, build_form

pytestmark = pytest.mark.xdist_group("console")

ID = "00000000-0000-4000-8000-000000000000"
ROUTES = {screen.handler.__name__: screen for screen in list_screens()}
ROLES = ("nobody", *USERS)
ACTIONS = {"read": READ, "operate": OPERATE, "admin": ("*",)}
# These pages require a sign-in, and check the right to create a resource when the user opens them.
CREATION = dict.fromkeys(
    ("new_queue", "new_schedule", "new_topic", "new_group", "new_user", "new_key", "new_bus"), "admin"
)
SENDS_ONLY = '{"Statement": {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "*"}}'
PATH_VALUES = {
    "file": "console.css",
    "rest": "nothing",
    "name": "orders",
    "message_id": "1",
    "topic": "orders",
    "subscription": ID,
    "schedule": "daily",
    "delivery": "1",
    "group": "batch",
    "user": "guarded",
    "key": "PSTBAAAAAAAAAAAAAAAA",
    "mapping": ID,
    "move": ID,
    "bus": "orders",
    "subscriber": "billing",
}


def location(response: httpx.Response) -> str:
    return response.headers["location"]


# --- roles -----------------------------------------------------------------------------------------------------------
def find_first_role(name: str) -> str:
    """Returns the first role that can use a route. All later roles can also use the route.

    `docs/operate/policies.md` lists the actions of each route, and a unit test compares the page with the routes.
    """
    right = ROUTES[name].right
    if right == PUBLIC:
        return "nobody"
    return CREATION.get(name) or next(
        role
        for role, allowed in ACTIONS.items()
        if all(any(fnmatchcase(action, pattern) for pattern in allowed) for action in right.actions)
    )


def fill_path(name: str) -> str:
    return ROUTES[name].path.replace(":path", "").format(**PATH_VALUES)


def test_every_route_for_every_role(installation: ConsoleInstallation) -> None:
    """If the role does not have the right, the console refuses the request or redirects to the sign-in page. The
    console accepts a request if the role has the right.
    """
    browsers = {role: installation.browser(role) for role in ROLES}
    for name, route in ROUTES.items():
        if name == "sign_out":
            # The sign-out would end the session that the other tests use (see test_signing_out).
            continue
        path, first_role = fill_path(name), find_first_role(name)
        for role, client in browsers.items():
            method = route.method
            may = ROLES.index(role) >= ROLES.index(first_role)
            form = {} if may else build_form("orders")  # the operation fails after the console has read the form
            response = client.get(path) if method == "GET" else client.post(path, **form)
            is_refused = response.status_code == 403 and "not authorized" in response.text
            is_redirected = response.status_code == 303 and location(response).startswith("/console/sign-in")
            assert (is_refused or is_redirected) is not may, (name, role, response.status_code)
            assert is_redirected is (role == "nobody" and not may), (name, role)


def test_a_reader_sees_no_act_of_a_topic_and_tests_no_filter(installation: ConsoleInstallation) -> None:
    admin, reader = installation.browser("admin"), installation.browser("read")
    admin.post("/console/topics", name="seen")
    mailbox = {"protocol": "email", "endpoint": "ann@example.com"}
    path = location(admin.post("/console/topics/seen/subscribe", **mailbox)).partition("?")[0]
    acts = ("Subscribe…", "Publish…", "Delete topic", "New topic…", "Save", "Confirm</button>", "End subscription")
    for page in ("/console/topics", "/console/topics/seen", path):
        text = {role: client.get(page).text for role, client in (("admin", admin), ("read", reader))}
        assert "seen" in text["read"]
        assert not [act for act in acts if act in text["read"]]
        assert [act for act in acts if act in text["admin"]]
    for form in ("/console/topics/seen/subscribe", path, "/console/mappings"):
        refused = reader.post(form, do="test", filter="{}", sample="{}")
        assert (refused.status_code, "not authorized" in refused.text) == (403, True), form
    assert "The message passes." in admin.post(path, do="test", filter="", sample="{}").text


def test_a_queue_of_another_account_needs_a_policy_for_the_topic(installation: ConsoleInstallation) -> None:
    """The console shows the refusal at the field, as the API reports it, and subscribes nothing."""
    admin = installation.browser("admin")
    admin.post("/console/topics", name="abroad")
    arn = "arn:aws:sqs:us-east-1:111111111111:elsewhere"
    refused = admin.post("/console/topics/abroad/subscribe", protocol="sqs", endpoint=arn, filter='{"a": ["b"]}')
    assert refused.status_code == 403
    problem = refused.text.partition('id="problem-endpoint"')[2].partition("</span>")[0]
    assert f"The policy of the queue {arn} does not allow the topic" in problem
    assert f'name="endpoint" value="{arn}"' in refused.text
    assert "&#34;a&#34;" in refused.text
    assert "The topic has no subscriptions" in admin.get("/console/topics/abroad").text
    text = {"protocol": "sms", "endpoint": "+15550100000"}
    with key_ring(installation.database) as ring:
        statement = {"Effect": "Allow", "Action": ["sns:*", "sqs:*"], "Resource": "*"}
        list(ring.set_user("subscriber", [json.dumps({"Statement": statement})], None, new=True))
    subscriber = ConsoleClient(installation.service)
    subscriber.sign_in(bearer(installation.database, "subscriber"))
    refused = subscriber.post("/console/topics/abroad/subscribe", **text)
    assert (refused.status_code, "penstock:PublishToPhoneNumber" in refused.text) == (403, True)
    assert location(admin.post("/console/topics/abroad/subscribe", **text)).endswith("?done=subscribed")


def test_a_get_changes_nothing(installation: ConsoleInstallation) -> None:
    """A route that changes data uses a method that a page of another site cannot make a browser send. The audit log
    records every change.
    """
    admin = installation.browser("admin")
    admin.post("/console/queues", name="orders")
    admin.post("/console/topics", name="orders")
    with psycopg.connect(installation.database.dsn, autocommit=True) as connection:
        count = "select count(*) from queue.audit where refusal_key is null"  # no refusals, and no readings
        before = connection.execute(count).fetchone()
        for name, route in ROUTES.items():
            if route.method == "GET":
                assert admin.get(fill_path(name)).status_code < 500, name
        assert connection.execute(count).fetchone() == before
        assert before is not None
        assert before[0] > 0


# --- signing in ------------------------------------------------------------------------------------------------------
def test_a_key_signs_in_and_its_end_signs_out(installation: ConsoleInstallation) -> None:
    client = ConsoleClient(installation.service)
    response = client.get("/console/queues?q=a&sort=visible")
    assert location(response) == "/console/sign-in?to=/console/queues%3Fq%3Da%26sort%3Dvisible"
    key = bearer(installation.database, None)
    response = client.post("/console/sign-in", key=key, to="/console/queues?q=a")
    assert (response.status_code, location(response)) == (303, "/console/queues?q=a")
    cookie = response.headers["set-cookie"]
    port = installation.service.url.rpartition(":")[2]
    assert cookie.startswith(f"penstock_console_{port}=")
    assert {part.strip() for part in cookie.split(";")[1:]} >= {"Path=/console", "HttpOnly", "SameSite=Strict"}
    assert key.partition(".")[0] not in cookie
    assert client.get("/console/queues").status_code == 200
    assert installation.may_see(client)
    pasted = ConsoleClient(installation.service).post("/console/sign-in", key=f"Authorization: Bearer {key}")
    assert pasted.status_code == 303, "as `penstock keys create` prints it"
    with key_ring(installation.database) as ring:
        list(ring.revoke(key.partition(".")[0]))
    assert not installation.may_see(client)


def test_policies_are_read_again_and_a_user_ends(installation: ConsoleInstallation) -> None:
    with key_ring(installation.database) as ring:
        list(ring.set_user("ana", ["admin"], None, new=True))
        client = ConsoleClient(installation.service)
        client.sign_in(bearer(installation.database, "ana"))
        assert installation.may_see(client)
        key_id = ring.create(None, "the spare", bearer=True, user="ana").key_id
        users, keys = client.get("/console/keys").text.split('id="keys"')
        assert re.search(r">ana</a></th>\s*<td data-label=\"Policies\"><span class=\"badge\">admin<", users)
        assert re.search(rf"<code>{key_id}</code></a></th>.*?>bearer</td>.*?>ana</td>.*?>the spare<", keys, re.DOTALL)
        list(ring.set_user("ana", [SENDS_ONLY], None, new=False))
        assert client.get("/console/queues").status_code == 403
        list(ring.end_user("ana", None))
        assert location(client.get("/console/queues")).startswith("/console/sign-in")


def test_an_access_key_signs_in(installation: ConsoleInstallation) -> None:
    key_id, secret = new_key(installation.database, "000000000000")
    client = ConsoleClient(installation.service)
    assert client.sign_in(key_id, secret).status_code == 303
    assert installation.may_see(client)
    assert ConsoleClient(installation.service).sign_in(key_id, secret + "x").status_code == 403


def test_signing_out(installation: ConsoleInstallation) -> None:
    client = installation.browser("read")
    stolen = dict(client.http.cookies)
    assert location(client.post("/console/sign-out")) == "/console/sign-in"
    assert not client.http.cookies
    client.http.cookies.update(stolen)
    assert not installation.may_see(client)


def test_the_database_has_no_cookie(installation: ConsoleInstallation) -> None:
    client = installation.browser("read")
    (value,) = client.http.cookies.values()
    with psycopg.connect(installation.database.dsn) as connection:
        rows = connection.execute("select s::text from queue.console_session s").fetchall()
    assert rows
    assert not any(value in text for (text,) in rows)


@pytest.mark.parametrize(
    "to", ["https://example.com/console", "//example.com", "/v1/queues", "/console\\evil", "", "/consoles"]
)
def test_signing_in_leads_nowhere_else(installation: ConsoleInstallation, to: str) -> None:
    client = ConsoleClient(installation.service)
    assert location(client.post("/console/sign-in", key=installation.keys["read"], to=to)) == "/console"


def test_attempts_are_limited(database: Database) -> None:
    """The console limits wrong secrets by key, not by address, because many users can share an address."""
    key = bearer(database, None)
    with running_service(database.api_dsn, **SIGV4) as service:
        client = ConsoleClient(service)
        statuses = [client.sign_in("PSTB" + "A" * 16, "wrong").status_code for _ in range(12)]
        assert statuses[0] == 403
        assert statuses[-1] == 429
        assert client.sign_in(key).status_code == 303
        own = key.partition(".")[0]
        wrong = [client.sign_in(f"{own}.wrong").status_code for _ in range(12)]
        assert (wrong[0], wrong[-1]) == (403, 429)
        assert client.sign_in(key).status_code == 429


# --- origins ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "origin", ["", "null", "http://127.0.0.1:1", "http://localhost:PORT", "https://127.0.0.1:PORT", "http://127.0.0.1"]
)
def test_only_the_very_own_origin_may_send_forms(installation: ConsoleInstallation, origin: str) -> None:
    port = installation.service.url.rpartition(":")[2]
    client = installation.browser("admin")
    assert client.post("/console/sign-out", origin=origin.replace("PORT", port)).status_code == 403
    assert installation.may_see(client)


def test_no_other_site_embeds_a_page_but_links_are_followed(installation: ConsoleInstallation) -> None:
    client = installation.browser("read")
    foreign = {"sec-fetch-site": "cross-site"}
    assert client.get("/console", **foreign, **{"sec-fetch-mode": "no-cors"}).status_code == 403
    response = client.get("/console", **foreign, **{"sec-fetch-mode": "navigate"})
    assert response.status_code == 200
    assert response.headers["x-frame-options"] == "DENY"
    policy = response.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy


def test_behind_tls_the_cookie_is_secure_and_the_origin_https(database: Database) -> None:
    key = bearer(database, None)
    with running_service(database.api_dsn, **SIGV4, QUEUE_BASE_URL="https://queues.example.com") as service:
        client = ConsoleClient(service)
        response = client.post("/console/sign-in", origin="https://queues.example.com", key=key)
        assert "; Secure" in response.headers["set-cookie"]
        assert client.post("/console/sign-in", origin="http://queues.example.com", key=key).status_code == 403


# --- QUEUE_CONSOLE ---------------------------------------------------------------------------------------------------
def test_the_open_console_says_so_and_one_that_reads_takes_no_form(database: Database) -> None:
    with running_service(database.api_dsn, QUEUE_CONSOLE="read") as service:
        client = ConsoleClient(service)
        text = client.get("/console").text
        assert "This console needs no sign-in." in text
        assert "see, change and delete" not in text
        assert location(client.get("/console/sign-in")) == "/console"
        assert client.sign_in("PSTB" + "A" * 16, "x").status_code == 403
        # A client receives AWS's response at `/`, but the service redirects a browser to the console.
        assert location(client.get("/")) == "/console"
        assert client.http.get("/").status_code == 400
        assert client.get("/?Action=ListQueues").headers["content-type"].startswith("text/xml")
        assert client.get("/console/none").status_code == 404


def test_a_dismissed_banner_stays_away_until_the_access_changes(database: Database) -> None:
    with running_service(database.api_dsn, QUEUE_CONSOLE="read") as service:
        client = ConsoleClient(service)
        assert 'class="banner"' in client.get("/console/queues").text
        dismissed = client.post("/console/banner", to="/console/queues?q=a")
        assert (dismissed.status_code, location(dismissed)) == (303, "/console/queues?q=a")
        assert {"HttpOnly", "SameSite=Strict", "Path=/console"} <= set(dismissed.headers["set-cookie"].split("; "))
        text = client.get("/console/queues").text
        assert 'class="banner"' not in text
        assert "no sign-in, read-only" in text
        assert location(client.post("/console/banner", to="https://example.com/")) == "/console"
        name = next(iter(client.http.cookies))
        client.http.cookies.clear()
        client.http.cookies.set(name, "open")
        assert 'class="banner"' in client.get("/console/queues").text


def test_without_a_console_there_are_no_pages(database: Database) -> None:
    with running_service(database.api_dsn) as service:
        client = ConsoleClient(service)
        assert client.get("/console").status_code == 404
        # A browser receives a page that explains the service, but a program receives AWS's response.
        with service.http() as http:
            shown = http.get("/", headers={"accept": "text/html,*/*;q=0.8"})
            assert (shown.status_code, shown.headers["content-type"]) == (200, "text/plain; charset=utf-8")
            assert "QUEUE_CONSOLE" in shown.text
            assert http.get("/").status_code == 400
            assert http.get("/docs/").headers["content-type"] == "application/json"
            assert (
                http.get("/?Action=ListQueues", headers={"accept": "text/html"}).headers["content-type"] == "text/xml"
            )
