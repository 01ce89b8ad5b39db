"""Tests `penstock users` and `penstock keys`, and the rights of users over the REST API."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import psycopg
import pytest

from penstock.access.users import build_user_arn
from penstock.postgres.statements.access import LIST_KEYS, LIST_USERS
from penstock_web.cli import main
from tests.support.conformance.access_keys import SIGV4
from tests.support.database import Database
from tests.support.programs.penstock_service import running_service
from tests.support.sql.calls import call

PARTNER = "111122223333"
WHEN = {"fire_at": "2099-01-01T00:00:00Z"}

Run = Callable[..., list[str]]


@pytest.fixture
def penstock(database: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in the process of the test and returns its output, or its standard error if the command fails."""
    for name, value in {**SIGV4, "DATABASE_URL": database.api_dsn}.items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str) -> list[str]:
        capsys.readouterr()
        main(arguments)
        output = capsys.readouterr()
        return (output.out or output.err).splitlines()

    return run


def bearer(penstock: Run, user: str, *more: str) -> dict[str, str]:
    (line, _) = penstock("keys", "create", "--bearer", "--user", user, *more)
    return {"authorization": f"Bearer {line.partition('=')[2]}"}


def key_id(header: dict[str, str]) -> str:
    return header["authorization"].removeprefix("Bearer ").partition(".")[0]


def status(http: httpx.Client, method: str, path: str, headers: dict[str, str], body: object = None) -> int:
    return http.request(method, path, json=body, headers=headers).status_code


# --- the REST API ----------------------------------------------------------------------------------------------------
def test_a_policy_is_shown_and_replaced(database: Database, penstock: Run, tmp_path: Path) -> None:
    policy = tmp_path / "policy.json"
    statement = {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "arn:aws:sqs:*:*:orders"}
    policy.write_text(json.dumps({"Version": "2012-10-17", "Statement": statement}))
    for name in ("read", "operate", "admin", str(policy)):
        penstock("users", "create", Path(name).stem, "--policy", name)
    read, operate, admin, sender = (bearer(penstock, user) for user in ("read", "operate", "admin", "policy"))
    messages = {"message": 1}
    with running_service(database.api_dsn, **SIGV4) as service, service.http() as http:
        for name in ("orders", "others"):
            for caller in (read, operate, sender):
                assert status(http, "POST", "/v1/queues", caller, {"name": name}) == 403
            assert status(http, "POST", "/v1/queues", admin, {"name": name}) == 201
        for method, path, body, allowed in (
            ("GET", "/v1/queues", None, (read, operate, admin)),
            ("GET", "/v1/queues/orders", None, (read, operate, admin)),
            ("GET", "/v1/metrics/lag", None, (read, operate, admin)),
            ("POST", "/v1/queues/orders/messages", messages, (operate, admin, sender)),
            ("POST", "/v1/queues/others/messages", messages, (operate, admin)),
            ("GET", "/v1/queues/orders/messages/peek", None, (operate, admin)),
            ("POST", "/v1/queues/orders/messages/search", {}, (operate, admin)),
            ("POST", "/v1/events/a.b", {"message": 1}, (operate, admin)),
            ("PATCH", "/v1/queues/orders", {"attributes": {"DelaySeconds": 1}}, (admin,)),
            ("DELETE", "/v1/queues/orders", None, (admin,)),
        ):
            for caller in (read, operate, sender, admin):
                code = status(http, method, path, caller, body)
                assert (code < 300) is (caller in allowed), (method, path, code)
                assert code < 300 or code == 403
        # The policy of a queue also applies to users of the REST API.
        deny = {"Effect": "Deny", "Principal": {"AWS": build_user_arn("000000000000", "operate")}, "Action": "*",
                "Resource": "*"}  # fmt: skip
        change = {"attributes": {"Policy": {"Statement": [deny]}}}
        assert status(http, "PATCH", "/v1/queues/others", admin, change) == 200
        assert status(http, "POST", "/v1/queues/others/messages", operate, messages) == 403
        assert status(http, "POST", "/v1/queues/others/messages", admin, messages) == 201
        penstock("users", "limit", "admin", "--policy", "read")
        assert status(http, "POST", "/v1/queues/others/messages", admin, messages) == 403
        assert status(http, "GET", "/v1/queues", admin) == 200
        penstock("users", "end", "admin")
        assert status(http, "GET", "/v1/queues", admin) == 401


SENDS = [
    ("POST", "/v1/transactions", {"send": [{"queue": "NAME", "message": 1}]}),
    ("POST", "/v1/transactions", {"send": [{"queue": "open", "message": 1}, {"queue": "NAME", "message": 1}]}),
    ("POST", "/v1/transactions", {"ack": [{"queue": "NAME", "receipt": "RECEIPT"}]}),
    ("POST", "/v1/events/a.b/subscriptions", {"queue_name": "NAME"}),
    ("POST", "/v1/schedules", {"name": "new", **WHEN, "target": {"queue": "NAME", "message": 1}}),
    ("PUT", "/v1/schedules", [{"name": "synced", **WHEN, "target": {"queue": "NAME", "message": 1}}]),
    ("PUT", "/v1/schedules/put", {**WHEN, "target": {"queue": "NAME", "message": 1}}),
    ("PATCH", "/v1/schedules/there", {"target": {"queue": "NAME", "message": 1}}),
]  # fmt: skip


def test_queues_in_bodies_are_asked_about(database: Database, penstock: Run, tmp_path: Path) -> None:
    """The service checks queues in bodies in the same way as queues in paths. A transaction, a binding or a schedule
    cannot perform an action that the policy of the user or of the queue denies.
    """
    everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    but_one = {"Effect": "Deny", "Action": "*", "Resource": "arn:aws:sqs:*:*:closed"}
    for name, statements in (("denied", [everything, but_one]), ("named", [everything]), ("sender", [everything])):
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps({"Statement": statements}))
        penstock("users", "create", name, "--policy", str(file))
    denied, named, sender = (bearer(penstock, user) for user in ("denied", "named", "sender"))
    (line, _) = penstock("keys", "create", "--bearer")
    root = {"authorization": f"Bearer {line.partition('=')[2]}"}
    by_name = {
        "Effect": "Deny",
        "Principal": {"AWS": build_user_arn("000000000000", "named")},
        "Action": "sqs:*",
        "Resource": "*",
    }
    with running_service(database.api_dsn, **SIGV4) as service, service.http() as http:
        for queue in ("open", "closed"):
            assert status(http, "POST", "/v1/queues", root, {"name": queue}) == 201
            assert status(http, "POST", f"/v1/queues/{queue}/messages", root, {"message": 1}) == 201
        closing = {"attributes": {"Policy": {"Statement": [by_name]}}}
        assert status(http, "PATCH", "/v1/queues/closed", root, closing) == 200
        target = {"queue": "open", "message": 1}
        assert status(http, "POST", "/v1/schedules", root, {"name": "there", **WHEN, "target": target}) == 201
        (message,) = http.get("/v1/queues/closed/messages", headers=root).json()
        for method, path, body in SENDS:
            text = json.dumps(body).replace("RECEIPT", message["receipt"]).replace("NAME", "closed")
            asked = json.loads(text)
            for caller in (denied, named):
                assert status(http, method, path, caller, asked) == 403, (method, path)
            assert status(http, method, path, sender, asked) < 300, (method, path)
        sent = {"send": [{"queue": "open", "message": 1}]}
        assert status(http, "POST", "/v1/transactions", denied, sent) == 200
        assert http.get("/v1/queues/open", headers=root).json()["queue_length"] == 3


def test_topics_of_schedules_are_asked_about(database: Database, penstock: Run, tmp_path: Path) -> None:
    """A schedule can publish only to topics and routing keys to which its creator can publish."""
    file = tmp_path / "scheduler.json"
    statement = {"Effect": "Allow", "Action": "scheduler:*", "Resource": "*"}
    file.write_text(json.dumps({"Statement": [statement]}))
    penstock("users", "create", "clock", "--policy", str(file))
    penstock("users", "create", "all", "--policy", "admin")
    clock, everything = bearer(penstock, "clock"), bearer(penstock, "all")
    new = {"name": "new", **WHEN, "target": {"topic": "a.b", "message": 1}}
    with running_service(database.api_dsn, **SIGV4) as service, service.http() as http:
        assert status(http, "POST", "/v1/schedules", clock, new) == 403
        assert status(http, "POST", "/v1/schedules", everything, new) == 201


def test_a_sync_asks_about_the_schedules_that_it_would_delete(
    database: Database, penstock: Run, tmp_path: Path
) -> None:
    """The service stores a message with a delay as a schedule. A sync does not delete the schedule of a delayed
    message, so the right to delete it does not matter.
    """
    file = tmp_path / "syncer.json"
    resources = {"scheduler:CreateSchedule": "*", "scheduler:UpdateSchedule": "*", "sqs:SendMessage": "*",
                 "scheduler:DeleteSchedule": "arn:aws:scheduler:*:*:schedule/default/own-*"}  # fmt: skip
    statements = [{"Effect": "Allow", "Action": action, "Resource": arn} for action, arn in resources.items()]
    file.write_text(json.dumps({"Statement": statements}))
    penstock("users", "create", "syncer", "--policy", str(file))
    penstock("users", "create", "all", "--policy", "admin")
    syncer, everything = bearer(penstock, "syncer"), bearer(penstock, "all")
    shared, own = ({"name": name, **WHEN, "target": {"queue": "q", "message": 1}} for name in ("shared", "own-1"))
    with running_service(database.api_dsn, **SIGV4) as service, service.http() as http:
        assert status(http, "POST", "/v1/queues", everything, {"name": "q"}) == 201
        assert status(http, "POST", "/v1/queues/q/messages", everything, {"message": 1, "delay": 1_000}) == 201
        assert status(http, "PUT", "/v1/schedules", everything, [shared, own]) == 200
        assert status(http, "PUT", "/v1/schedules?prune=true", syncer, [own]) == 403
        assert len(http.get("/v1/schedules", headers=everything).json()["schedules"]) == 3
        assert status(http, "PUT", "/v1/schedules?prune=true", syncer, [shared]) == 200
        assert len(http.get("/v1/schedules", headers=everything).json()["schedules"]) == 2


def test_a_key_expires_and_notes_its_use(database: Database, penstock: Run) -> None:
    penstock("users", "create", "billing", "--policy", "read")
    first = bearer(penstock, "billing", "--expires", "90d", "--description", "the first")
    second = bearer(penstock, "billing")
    assert "two bearer keys" in penstock("keys", "create", "--bearer", "--user", "billing")[0]
    with running_service(database.api_dsn, **{**SIGV4, "QUEUE_ACCESS_CACHE_SECONDS": "30"}) as service:
        with service.http() as http:
            assert status(http, "GET", "/v1/queues", first) == status(http, "GET", "/v1/queues", second) == 200
            shown = penstock("keys", "show", key_id(first))
            assert shown[0] == f"bearer key {key_id(first)} of billing, account 000000000000"
            assert shown[2] != "last used: -"
            assert shown[3] == f"expires: {(datetime.now(UTC) + timedelta(days=90)):%Y-%m-%d}" + shown[3][19:]
            assert shown[-1] == "description: the first"
        with psycopg.connect(database.dsn, autocommit=True) as sql:
            sql.execute(
                "update queue.bearer_key set expires_at = now() - interval '1 s' where key_id = %s", (key_id(first),)
            )
    with running_service(database.api_dsn, **SIGV4) as service, service.http() as http:
        assert status(http, "GET", "/v1/queues", first) == 401
        assert bearer(penstock, "billing")  # Expired keys do not count.
        assert status(http, "GET", "/v1/queues", second) == 200
        penstock("keys", "limit", key_id(first), "--expires", "never")
        assert status(http, "GET", "/v1/queues", first) == 200
        penstock("keys", "limit", key_id(second), "--expires", "2999-01-31")
        assert penstock("keys", "show", key_id(second))[3] == "expires: 2999-01-31 00:00:00Z"


# --- the command line ------------------------------------------------------------------------------------------------
def test_users_are_made_shown_limited_and_ended(database: Database, penstock: Run) -> None:
    assert penstock("users", "create", "ann", "--policy", "read", "--policy", "operate") == [
        "user ann of the account 000000000000: read, operate"
    ]
    penstock("users", "create", "bob", "--policy", "admin", "--account", PARTNER)
    key, _ = penstock("keys", "create", "--user", "ann")[0].partition("=")[2], None
    assert [line.split()[:2] for line in penstock("users", "list")[1:]] == [["000000000000", "ann"], [PARTNER, "bob"]]
    shown = penstock("users", "show", "ann")
    assert shown[0].startswith(f"{build_user_arn('000000000000', 'ann')}, created 20")
    assert shown[1:3] == ["policy: read", "policy: operate"]
    assert shown[4].split()[:2] == ["access", key]
    assert [line.split()[3] for line in penstock("keys", "list")[1:]] == ["ann"]
    with psycopg.connect(database.api_dsn) as sql:
        assert [user.name for user in call(sql, LIST_USERS, PARTNER)] == ["bob"]
        assert [user.name for user in call(sql, LIST_USERS, None)] == ["ann", "bob"]
        assert [row.key_id for row in call(sql, LIST_KEYS, "000000000000")] == [key]
        assert call(sql, LIST_KEYS, PARTNER) == []
    penstock("users", "end", "ann")
    assert penstock("users", "show", "ann") == ["penstock: the account 000000000000 has no user 'ann'"]
    penstock("users", "create", "ann", "--policy", "admin")
    assert len(penstock("users", "show", "ann")) == 3  # no key comes back


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("users create no/name --policy read", "a user's name has 1 to 64"),
        ("users create ann --policy read", "has a user 'ann'"),
        ("users limit bob --policy read", "has no user 'bob'"),
        ("users end bob", "has no user 'bob'"),
        ("users create eve --policy write", "--policy write is not read, operate, admin or a readable file"),
        ("users create eve --policy read --account 12", "an account is 12 digits"),
        ("keys create --user bob", "has no user 'bob'"),
        ("keys create --user ann --account 111122223333", "has no user 'ann'"),
        ("keys create --expires yesterday", "'yesterday' is not a time such as 2027-01-31"),
        ("keys create --expires 2020-01-01", "is in the past"),
        ("keys limit PSTKNOBODY --expires 3d", "there is no key"),
        ("keys show PSTKNOBODY", "there is no key"),
    ],
)
def test_an_impossible_command_about_users_is_refused(penstock: Run, command: str, reason: str) -> None:
    penstock("users", "create", "ann", "--policy", "read")
    (line,) = penstock(*command.split())
    assert line.startswith("penstock: ")
    assert reason in line


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("write", "a policy is read, operate, admin or IAM's JSON"),
        ("{}", "a policy is read"),
        ('{"Statement": {"Effect": "Allow", "Action": "sqs:*"}}', "Penstock does not support"),
        (
            '{"Statement": {"Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*"}}',
            "a user's policy has no Principal",
        ),
        (
            '{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"Bool": {"a": 1}}}}',
            "Penstock does not support",
        ),
        (" " * 6_200, "at most 6144 characters"),
        ('{"Statment": []}', "a policy has Id, Statement, Version, not 'Statment'"),
        ('{"Statement": {"Efect": "Allow"}}', "not 'Efect'"),
        ('{"Version": "2020", "Statement": []}', "the Version of a policy is 2008-10-17 or 2012-10-17, not '2020'"),
        (
            '{"Statement": [{"Sid": "a", "Effect": "Deny"}, {"Sid": "a", "Effect": "Deny"}]}',
            "two statements have the Sid 'a'",
        ),
        (
            '{"Statement": {"Effect": "Deny", "Action": "*", "Resource": "*", "Condition": {"ArnEqual": {}}}}',
            "a Condition has operators of IAM",
        ),
        ('{"Statement": {"Effect": "Dney"}}', "the Effect of a statement is Allow or Deny, not 'Dney'"),
        (
            '{"Statement": [{"Effect": "Allow", "Action": ["s3:GetObject", "sqs:SendMesage"], "Resource": "*"}]}',
            "there is no action 'sqs:SendMesage'",
        ),
        (
            '{"Statement": {"Effect": "Deny", "Action": "sqs:SendMessageBatch", "Resource": "*"}}',
            "'sqs:SendMessageBatch' has no effect: a batch is asked for as 'sqs:SendMessage'",
        ),
        (
            '{"Statement": {"Effect": "Deny", "Action": "SQS:sendmessagebatch", "Resource": "*"}}',
            "'SQS:sendmessagebatch' has no effect: a batch is asked for as 'sqs:SendMessage'",
        ),
        (
            '{"Statement": {"Effect": "Deny", "Action": "sns:*Batch", "Resource": "*"}}',
            "'sns:*Batch' has no effect: a batch is asked for as 'sns:Publish'",
        ),
    ],
)
def test_files_that_are_no_policies(penstock: Run, tmp_path: Path, text: str, reason: str) -> None:
    """The command refuses a policy that allows no action because of a mistake."""
    file = tmp_path / "policy.json"
    file.write_text(text)
    (line,) = penstock("users", "create", "ann", "--policy", str(file))
    assert reason in line
    assert line.startswith("penstock: ")
