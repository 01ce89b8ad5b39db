"""Tests the pages that create and change users and keys: the secret that is shown once, and the questions before a
change that ends access."""

import html
import json
import re
from typing import Any

import boto3
import psycopg
import pytest

from penstock_web.console.screens.people import ACCOUNT
from tests.support.conformance.access_keys import key_ring
from tests.support.web.console import Console, ConsoleClient, ConsoleInstallation, bearer

pytestmark = pytest.mark.xdist_group("console")

SENDS = '{"Statement": {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "*"}}'
HOSTILE = "<script>alert(1)</script>\"'&{{7*7}}`|"
EXPORTED = re.compile(r"export (\w+)=(\S+)")


def root_browser(installation: ConsoleInstallation) -> ConsoleClient:
    client = ConsoleClient(installation.service)
    assert client.sign_in(bearer(installation.database, None)).status_code == 303
    return client


def create_key(client: ConsoleClient, **form: str) -> tuple[str, dict[str, str]]:
    """Creates a key. Returns the page, and the variables that the page exports."""
    response = client.post("/console/keys", **form)
    assert response.status_code == 200, response.text
    assert response.headers["cache-control"] == "no-store"
    return response.text, dict(EXPORTED.findall(html.unescape(response.text)))


def everything_stored(installation: ConsoleInstallation) -> str:
    with psycopg.connect(installation.database.dsn) as connection:
        rows = connection.execute(
            "select a::text from queue.audit a union all select k::text from queue.access_key k"
            " union all select k::text from queue.bearer_key k"
        ).fetchall()
    return "\n".join(text for (text,) in rows)


def test_a_user_is_created_given_a_key_changed_and_ended(
    installation: ConsoleInstallation, capfd: pytest.CaptureFixture[str]
) -> None:
    """The page of a new key shows the secret once. No other page, log, audit row or table contains it."""
    admin = installation.browser("admin")
    made = admin.post("/console/users", name="shop@eu", policy=["read"], document=[SENDS, ""])
    assert made.headers["location"] == "/console/users/shop%40eu?done=user_created"
    assert "Nothing" not in admin.get("/console/keys").text
    page, lines = create_key(admin, user="shop@eu", kind="bearer", description=HOSTILE)
    token = lines["PENSTOCK_TOKEN"]
    assert page.count(token.partition(".")[2]) == 1
    assert lines["PENSTOCK_ENDPOINT"] == installation.service.url
    with installation.service.http() as http:
        header = {"authorization": f"Bearer {token}"}
        assert http.get("/v1/queues", headers=header).status_code == 200
        page, lines = create_key(admin, user="shop@eu", kind="access")
        assert page.count(lines["AWS_SECRET_ACCESS_KEY"]) == 1
        signed = boto3.client(
            "sqs", endpoint_url=lines["AWS_ENDPOINT_URL_SQS"], region_name=lines["AWS_REGION"],
            aws_access_key_id=lines["AWS_ACCESS_KEY_ID"], aws_secret_access_key=lines["AWS_SECRET_ACCESS_KEY"],
        )  # fmt: skip
        assert "ResponseMetadata" in signed.list_queues()
        signed.close()
        key_id = token.partition(".")[0]
        shown = admin.get(f"/console/keys/{key_id}").text + admin.get("/console/users/shop%40eu").text
        assert html.escape(HOSTILE, quote=False)[:20] in shown
        assert "<script>alert" not in shown
        for secret in (token.partition(".")[2], lines["AWS_SECRET_ACCESS_KEY"]):
            assert secret not in shown + everything_stored(installation) + "".join(capfd.readouterr())
        limited = admin.post(f"/console/keys/{key_id}/limit", expires="2199-01-01")
        assert limited.headers["location"].endswith("?done=limited")
        assert "until 2199-01-01 00:00:00 UTC" in admin.get(f"/console/keys/{key_id}").text
        assert admin.post(f"/console/keys/{key_id}/revoke").headers["location"].endswith("?done=revoked")
        assert http.get("/v1/queues", headers=header).status_code == 401
    changed = admin.post("/console/users/shop%40eu/policies", policy=["operate"], document="")
    assert changed.headers["location"].endswith("?done=policies_set")
    assert re.search(r'value="operate" checked', admin.get("/console/users/shop%40eu").text)
    assert admin.post("/console/users/shop%40eu/end", typed="shop").status_code == 400
    assert admin.post("/console/users/shop%40eu/end", typed="shop@eu").headers["location"].endswith("user_ended")
    assert admin.get("/console/users/shop%40eu").status_code == 404
    with psycopg.connect(installation.database.dsn) as connection:
        rows = connection.execute(
            "select action, interface from queue.audit where actor like '%user/admin' and target like '%user/shop@eu'"
            " order by audit_id"
        ).fetchall()
    acts = ["penstock:SetUser", "penstock:CreateKey", "penstock:CreateKey", "penstock:SetUser", "penstock:EndUser"]
    assert rows == [(act, "console") for act in acts]


@pytest.mark.parametrize(
    ("path", "form", "text"),
    [
        ("users", {"name": "a b", "policy": "read"}, "a user's name has 1 to 64"),
        ("users", {"name": "", "policy": "read"}, "a user's name has 1 to 64"),
        ("users", {"name": "read", "policy": "admin"}, "There is already a user read."),
        ("users", {"name": "ann", "document": HOSTILE}, "a policy is read, operate, admin or IAM's JSON"),
        ("users", {"name": "ann", "document": SENDS.replace("SendM", "SedM")}, "there is no action"),
        ("users", {"name": "ann", "document": [SENDS] * 12}, "at most 10 policies"),
        ("users/read/policies", {"document": HOSTILE}, "a policy is read, operate, admin or IAM's JSON"),
        ("keys", {"user": "", "kind": "bearer"}, "Choose the user"),
        ("keys", {"user": "nobody", "kind": "bearer"}, "The user does not exist."),
        ("keys", {"user": "read", "kind": "bearer", "expires": "2020-01-01"}, "expires_at is over"),
        ("keys", {"user": "read", "kind": "bearer", "expires": HOSTILE}, "is not a day"),
        ("keys", {"user": ACCOUNT, "kind": "bearer"}, "Only a key of the account itself"),
    ],
)
def test_a_refused_form_says_why_and_keeps_the_fields(
    installation: ConsoleInstallation, path: str, form: dict[str, Any], text: str
) -> None:
    admin = installation.browser("admin")
    before = everything_stored(installation).count("penstock:")
    response = admin.post(f"/console/{path}", **form)
    assert response.status_code in (400, 403, 404)
    assert text in html.unescape(response.text)
    assert "<script>alert" not in response.text
    document = form.get("document")
    assert not isinstance(document, str) or document in html.unescape(response.text)
    assert everything_stored(installation).count("penstock:") == before


def test_a_change_that_ends_the_own_access_asks(installation: ConsoleInstallation) -> None:
    """The console warns a user who revokes the key of the session or removes their own rights. Nothing changes until
    the user confirms."""
    admin = installation.browser("admin")
    assert admin.post("/console/users", name="boss", policy="admin").status_code == 303
    _, lines = create_key(admin, user="boss", kind="bearer")
    boss = ConsoleClient(installation.service)
    boss.sign_in(lines["PENSTOCK_TOKEN"])
    key_id = lines["PENSTOCK_TOKEN"].partition(".")[0]
    assert "you signed in" in " ".join(boss.get(f"/console/keys/{key_id}").text.split())
    given = {"policy": "read", "document": json.dumps({"Statement": []})}
    asked = boss.post("/console/users/boss/policies", policy="read")
    assert asked.status_code == 409
    assert "You will no longer be able to manage users and keys." in asked.text
    assert "No other valid key" not in asked.text
    assert '<textarea name="policy" hidden>\nread</textarea>' in asked.text
    for path, form in (
        (f"keys/{key_id}/revoke", {}), (f"keys/{key_id}/limit", {"expires": "2199-01-01"}),
        ("users/boss/end", {"typed": "boss"}),
    ):  # fmt: skip
        asked = boss.post(f"/console/{path}", **form)
        assert (asked.status_code, "You signed in with a key that this change ends" in asked.text) == (409, True)
        assert boss.get("/console/keys").status_code == 200
    assert boss.post("/console/users/boss/policies", **given).status_code == 400, "a faulty policy is told first"
    assert boss.post(f"/console/keys/{key_id}/revoke", confirmed="yes").status_code == 303
    assert boss.get("/console/keys").headers["location"].startswith("/console/sign-in")


def test_the_last_administrator_is_told(installation: ConsoleInstallation) -> None:
    """The account's only key that can manage users and keys is the key of the session."""
    with key_ring(installation.database) as ring:
        list(ring.set_user("last", ["admin"], "111122223333", new=True))
        made = ring.create("111122223333", "", bearer=True, user="last")
        ring.create("111122223333", "", bearer=True, user="last")
        list(ring.set_user("other", ["operate"], "111122223333", new=True))
        ring.create("111122223333", "", bearer=True, user="other")
    client = ConsoleClient(installation.service)
    client.sign_in(made.token)
    assert "No other valid key" not in client.post(f"/console/keys/{made.key_id}/revoke").text
    for path, form in (("users/last/end", {"typed": "last"}), ("users/last/policies", {"policy": "operate"})):
        asked = client.post(f"/console/{path}", **form)
        assert (asked.status_code, "No other valid key can manage users and keys." in asked.text) == (409, True)
    confirmed = client.post("/console/users/last/policies", policy="operate", confirmed="yes")
    assert confirmed.status_code == 303
    assert client.get("/console/keys").status_code == 403


def test_a_user_may_have_two_keys_and_root_can_have_more(installation: ConsoleInstallation) -> None:
    root = root_browser(installation)
    assert root.post("/console/users", name="twice").status_code == 303
    for _ in range(2):
        create_key(root, user="twice", kind="bearer")
    third = root.post("/console/keys", user="twice", kind="bearer")
    assert (third.status_code, "revoke one first" in third.text) == (429, True)
    page, _ = create_key(root, user=ACCOUNT, kind="access")
    assert "of the account was created" in page


def test_without_rights_there_are_no_forms(installation: ConsoleInstallation) -> None:
    """A user who can only list sees no form. A form from another origin changes nothing."""
    lists = json.dumps({"Statement": {"Effect": "Allow", "Action": "penstock:ReadKeys", "Resource": "*"}})
    with key_ring(installation.database) as ring:
        list(ring.set_user("lister", [lists], None, new=True))
    client = ConsoleClient(installation.service)
    client.sign_in(bearer(installation.database, "lister"))
    key_id = installation.keys["read"].partition(".")[0]
    for path in ("keys", "users/read", f"keys/{key_id}"):
        page = client.get(f"/console/{path}").text
        assert page.count("<form") == 2, "sign out, and the dialog of shortcuts"
    for path in ("users", "users/read/policies", "users/read/end", "keys", f"keys/{key_id}/revoke"):
        assert client.post(f"/console/{path}", name="ann", user="read", typed="read").status_code == 403
        admin = installation.browser("admin")
        foreign = admin.post(f"/console/{path}", origin="https://example.com", name="ann", user="read", typed="read")
        assert foreign.status_code == 403
    assert installation.may_see(installation.browser("read"))


def test_a_service_without_keys_changes_none(console: Console) -> None:
    page = console.page("/keys")
    assert "The service requires no keys" in page
    assert "New user" not in page
    refused = console.browser.post("/console/users", name="ann", policy="read")
    assert (refused.status_code, "requires no keys" in refused.text) == (409, True)
