"""Tests `penstock queues`, `send` and other commands with a running service (docs/reference/command_line.md)."""

import io
import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import boto3
import pytest

from penstock_web.cli import main
from penstock_web.cli.client import RefusedError, RestClient
from tests.support.database import TestServer
from tests.support.programs.penstock_service import running_service
from tests.support.programs.terminal import program_on_terminal
from tests.support.wait import wait_until

Command = Callable[..., str]


@pytest.fixture(scope="module")
def endpoint(postgres: TestServer) -> Iterator[str]:
    with postgres.database() as database, running_service(database.api_dsn) as service:
        yield service.url


@pytest.fixture
def penstock(
    endpoint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Command:
    """Runs a command that succeeds and returns its output."""
    monkeypatch.setenv("PENSTOCK_ENDPOINT", endpoint)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str) -> str:
        code = main(arguments)
        output = capsys.readouterr()
        assert (code, output.err) == (0, "")
        return output.out

    return run


def lines(printed: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in printed.splitlines()]


def test_messages_come_back_as_they_were_sent(penstock: Command) -> None:
    assert penstock("create", "orders", "--attribute", "VisibilityTimeout=60") == "created orders\n"
    assert penstock("send", "orders", '{"price": 1.10}') == "sent 1 message to orders\n"
    assert penstock("send", "orders", "\x1b[2Jhello") == "sent 1 message to orders\n"
    assert sorted(line.split()[2:] for line in penstock("peek", "orders").splitlines()) == [
        ["0", "\\x1b[2Jhello"],
        ["0", '{"price":1.10}'],
    ], "a message cannot write to the terminal"
    assert [row["read_count"] for row in lines(penstock("peek", "orders", "--json"))] == [0, 0]
    received = lines(penstock("receive", "orders", "--max", "10", "--wait", "5", "--delete", "--json"))
    assert sorted(str(row["message"]) for row in received) == ["\x1b[2Jhello", "{'price': 1.1}"]
    assert penstock("peek", "orders", "--state", "in_flight") == ""
    assert penstock("receive", "orders") == ""


def test_a_queue_that_exists_is_made_again(penstock: Command, capsys: pytest.CaptureFixture[str]) -> None:
    """The command accepts equal or no attributes, as CreateQueue does. Different attributes lead to QueueNameExists
    (SQS API reference).
    """
    first = ("create", "again.fifo", "--attribute", "VisibilityTimeout=60", "--attribute", "DelaySeconds=5")
    penstock("create", "again-failed.fifo")
    dead = ("--dead-letters", "again-failed.fifo", "--max-receives", "3")
    assert penstock(*first, *dead) == "created again.fifo\n"
    for again in ((*first, *dead), ("create", "again.fifo"), ("create", "again.fifo", *dead)):
        assert penstock(*again) == "the queue again.fifo exists\n"
    assert json.loads(penstock("create", "again.fifo", "--json"))["name"] == "again.fifo"
    other = ("--attribute", "VisibilityTimeout=61", "--attribute", "DelaySeconds=6")
    assert main(["create", "again.fifo", *other]) == 1
    said = capsys.readouterr().err
    assert "QueueNameExists" in said
    assert "VisibilityTimeout is 60, not 61; DelaySeconds is 5, not 6" in said


def test_a_peek_at_all_states_has_the_oldest_first(penstock: Command) -> None:
    penstock("create", "states")
    for body in ("first", "second"):
        penstock("send", "states", body)
    penstock("send", "states", "third", "--delay", "600")
    penstock("receive", "states", "--hide", "600")
    shown = lines(penstock("peek", "states", "--state", "all", "--json"))
    assert [row["message"] for row in shown] == ["first", "second", "third"]
    assert len(lines(penstock("peek", "states", "--state", "all", "--max", "2", "--json"))) == 2
    assert len(lines(penstock("peek", "states", "--json"))) == 1


def test_a_message_a_line_of_standard_input(penstock: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    penstock("create", "lines")
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{number}\n" for number in range(250))))
    assert penstock("send", "lines", "-") == "sent 250 messages to lines\n"
    wait_until(lambda: {"visible", "verdict"} <= {*penstock("queue", "lines").split()})
    assert json.loads(penstock("queue", "lines", "--json"))["visible"] == 250
    header, *rows = penstock("queues").splitlines()
    assert header.split() == ["name", "visible", "in_flight", "delayed", "oldest_msg_age_sec", "paused"]
    assert ["lines", "250", "0", "0"] in [row.split()[:4] for row in rows]
    assert penstock("purge", "lines", "--yes") == "deleted 250 messages of lines\n"
    assert penstock("delete", "lines", "--yes") == "deleted lines\n"
    assert "lines" not in penstock("queues")


def test_a_message_is_deleted_by_id_or_receipt(penstock: Command, capsys: pytest.CaptureFixture[str]) -> None:
    penstock("create", "single")
    for body in ("first", "second", "third"):
        penstock("send", "single", body)
    first = lines(penstock("peek", "single", "--json"))[0]
    assert penstock("delete", "single", "--id", str(first["id"])) == "deleted 1 message of single\n"
    (second,) = lines(penstock("receive", "single", "--json"))
    assert penstock("delete", "single", "--receipt", str(second["receipt"])) == "deleted 1 message of single\n"
    assert [row["message"] for row in lines(penstock("peek", "single", "--state", "all", "--json"))] == ["third"]
    assert main(["delete", "single", "--id", str(first["id"])]) == 1
    assert "single has none of these messages" in capsys.readouterr().err


def test_tail_ends_after_a_count(penstock: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command does not show earlier messages. The test replaces the command's pause with a function that sends
    messages.
    """
    penstock("create", "tailed")
    penstock("send", "tailed", "before")
    bodies = iter(("first", "second", "third"))
    monkeypatch.setattr("time.sleep", lambda _seconds: main(["send", "tailed", next(bodies), "--json"]))
    shown = penstock("tail", "tailed", "--count", "2")
    assert [line.split()[-1] for line in shown.splitlines() if not line.startswith(("{", "["))] == ["first", "second"]


def test_commands_manage_schedules(penstock: Command) -> None:
    penstock("create", "reports")
    made = penstock(
        "schedules", "put", "nightly", "--queue", "reports", "--message", '{"n": 1.10}', "--cron", "0 3 * * *"
    )
    assert made.startswith("nightly: ")
    assert "T03:00:00" in made
    past = ("--queue", "reports", "--message", "{}", "--at", "2020-01-31T09:00:00Z")
    assert ", no next run" in penstock("schedules", "put", "past", *past)
    assert penstock("schedules", "delete", "past") == "deleted past\n"
    header, row = penstock("schedules", "list").splitlines()
    assert header.split()[:2] == ["name", "status"]
    assert row.split()[:2] == ["nightly", "active"]
    assert penstock("schedules", "pause", "nightly") == "paused nightly\n"
    assert [schedule["name"] for schedule in lines(penstock("schedules", "list", "--status", "paused", "--json"))] == [
        "nightly"
    ]
    assert penstock("schedules", "run", "nightly") == "nightly sent 1 message\n"
    assert penstock("peek", "reports").endswith('  {"n":1.10}\n')
    assert penstock("schedules", "resume", "nightly").startswith("resumed nightly, next at ")
    assert json.loads(penstock("schedules", "show", "nightly", "--json"))["status"] == "active"
    assert "human_readable" in penstock("schedules", "show", "nightly")
    assert penstock("schedules", "delete", "nightly") == "deleted nightly\n"
    assert lines(penstock("schedules", "list", "--json")) == []
    words, *times = penstock("schedules", "preview", "--every", "1h", "--count", "3").splitlines()
    assert "hour" in words
    assert len(times) == 3


def test_commands_manage_mappings(penstock: Command) -> None:
    penstock("create", "mapped")
    url = "http://127.0.0.1:1/handle"
    put = ("mappings", "put", "mapped", url)
    made = lines(penstock(*put, "--batch-size", "20", "--window", "1", "--disabled", "--json"))[0]
    name = str(made["id"])
    assert penstock(*put, "--filter", '{"body": ["a"]}', "--max-concurrency", "2", "--report-failures") == (
        f"{name}: mapped invokes {url} (disabled)\n"
    )
    (found,) = lines(penstock("mappings", "list", "--queue", "mapped", "--function", url, "--json"))
    changed = {
        "batch_size": 10, "window_secs": 0, "filters": [{"body": ["a"]}], "max_concurrency": 2, "report_failures": True
    }  # fmt: skip
    assert found == made | changed | {"updated_at": found["updated_at"]}
    assert penstock("mappings", "list").split()[:3] == ["id", "queue", "function"]
    assert penstock("mappings", "enable", name) == f"enabled {name}\n"
    assert ("state", "enabled") in [tuple(line.split()) for line in penstock("mappings", "show", name).splitlines()]
    assert penstock("mappings", "disable", name) == f"disabled {name}\n"
    assert penstock("mappings", "delete", name) == f"deleted {name}\n"
    assert penstock("mappings", "list", "--json") == ""


def test_commands_list_and_retry_deliveries(penstock: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert penstock("deliveries", "list").split() == [
        "id", "kind", "endpoint", "attempts", "next_attempt_at", "last_status", "last_error",
    ]  # fmt: skip
    assert lines(penstock("deliveries", "list", "--state", "exhausted", "--json")) == []
    assert main(["deliveries", "retry", "1"]) == 1
    assert "delivery" in capsys.readouterr().err.lower()


def test_status_shows_the_service_and_its_database(penstock: Command, endpoint: str) -> None:
    from penstock import __version__

    shown = dict(line.split(None, 1) for line in penstock("status").splitlines() if line)
    assert shown["service"] == endpoint
    assert shown["version"] == __version__
    assert shown["database"] == "ok"
    assert shown["queues"].isdigit()
    (found,) = lines(penstock("status", "--json"))
    assert found["queues"] == len(lines(penstock("queues", "--json")))
    assert found["attention"] == []


@pytest.mark.parametrize(("end", "code"), [(None, 0), (signal.SIGTERM, 143)])
def test_top_quits_cleanly(
    penstock: Command, endpoint: str, tmp_path: Path, end: signal.Signals | None, code: int
) -> None:
    """The terminal has its earlier content, cursor and modes again after q and SIGTERM."""
    penstock("create", "topmost")
    penstock("buses", "create", f"top-{code}")
    command = [sys.executable, "-m", "penstock_web.cli", "top", "--interval", "1"]
    variables = {"PENSTOCK_ENDPOINT": endpoint, "XDG_CACHE_HOME": str(tmp_path)}
    with program_on_terminal(command, variables, lines=40) as (terminal, process):
        before = terminal.modes()
        assert "\x1b[?1049h" in terminal.wait_for(f"bus top-{code}")
        terminal.press("n")
        terminal.wait_for("queue▲")
        penstock("create", "topmost-2")
        terminal.wait_for("topmost-2")
        assert terminal.modes() != before
        if end is None:
            terminal.press("q")
        else:
            process.send_signal(end)
        assert "\x1b[?25h" in terminal.wait_for("\x1b[?1049l")
        assert process.wait(30) == code
        assert terminal.modes() == before


def test_top_without_a_terminal_prints_once(penstock: Command) -> None:
    penstock("create", "printed")
    title, *rows = penstock("top", "--sort", "queue").splitlines()
    assert title.split()[:3] == ["queue", "verdict", "visible"]
    assert [row.split()[0] for row in rows] == sorted(str(row["name"]) for row in lines(penstock("top", "--json")))


def test_watch_shows_a_queue(penstock: Command, capsys: pytest.CaptureFixture[str]) -> None:
    penstock("create", "watched")
    (row,) = lines(penstock("watch", "watched", "--count", "1", "--json"))
    assert (row["queue"], set(row)) == ("watched", {"at", "queue", "verdict"})
    assert main(["watch", "unknown", "--count", "1"]) == 1
    assert "lists the queues of the region" in capsys.readouterr().err


def test_a_service_has_its_console_only_if_a_setting_says_so(
    penstock: Command, endpoint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ui"]) == 1
    assert f"{endpoint} has no console. Start the service with QUEUE_CONSOLE" in capsys.readouterr().err


def test_a_long_delay_is_a_schedule(penstock: Command, capsys: pytest.CaptureFixture[str]) -> None:
    penstock("create", "later")
    sent = penstock("send", "later", "hello", "--delay", "259200")
    (schedule,) = lines(penstock("schedules", "list", "--json"))
    assert sent.startswith("scheduled 1 message for later: a delay above 900 seconds creates a schedule, ")
    assert str(schedule["name"]) in sent
    assert penstock("send", "later", "hello", "--delay", "900") == "sent 1 message to later\n"
    assert main(["peek", "later", "--state", "delayed"]) == 0
    shown = capsys.readouterr()
    assert shown.out.endswith("  0  hello\n")
    assert "lists messages with a delay above 900 seconds" in shown.err


def test_nothing_to_send_is_an_error(
    penstock: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    penstock("create", "empty")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["send", "empty", "-"]) == 1
    assert "nothing was sent: standard input is empty" in capsys.readouterr().err


def test_peek_shows_groups(penstock: Command) -> None:
    penstock("create", "grouped.fifo")
    penstock("send", "grouped.fifo", "hello", "--group", "g1", "--dedup", "1")
    assert penstock("peek", "grouped.fifo").split()[2:] == ["0", "g1", "hello"]


def test_dead_letters_go_back(penstock: Command) -> None:
    penstock("create", "failed")
    penstock("create", "jobs", "--dead-letters", "failed", "--max-receives", "1")
    assert penstock("failures", "failed").strip() == "failed has no messages"
    penstock("send", "jobs", "broken")
    assert "broken" in penstock("receive", "jobs", "--hide", "0")
    assert penstock("receive", "jobs") == ""  # This receive moved the message to the dead-letter queue.
    assert penstock("peek", "failed").split()[2:] == ["1", "broken"]
    for text in ("other", "third"):
        penstock("send", "failed", text)
    assert penstock("search", "failed", "--filter", '{"text": "roken"}').split()[3:] == ["broken"]
    counts = [line.split()[0] for line in penstock("failures", "failed").splitlines()]
    assert counts == ["count", "2", "1", "examined"]
    moved = penstock("redrive", "failed", "--filter", '{"text": "broken"}', "--wait", "--yes").splitlines()[-1]
    assert ": completed, 1 of " in moved
    assert "broken" in penstock("peek", "jobs")
    penstock("redrive", "failed", "--to", "jobs", "--canary", "1", "--wait", "--yes")
    (waits, _) = (row["id"] for row in lines(penstock("moves", "list", "failed", "--json")))
    assert penstock("moves", "cancel", "failed", waits).endswith("cancelled, 1 of 2 moved\n")
    assert len(lines(penstock("peek", "failed", "--json"))) == 1
    penstock("send", "failed", '{"n": 1.10, "zip": null}')
    assert '+ {"n":1.10,"zip":"0123"}' in penstock("edit", "failed", "--text", "zip", "--set", "zip=0123", "--preview")
    assert "sent 1 edited message\n" in penstock("edit", "failed", "--filter", "{}", "--set", "zip=012", "--to", "jobs")
    assert '"012"' in penstock("peek", "jobs", "--text", "zip")


def test_options_select_messages(penstock: Command, endpoint: str) -> None:
    """The same options select messages for peek, search, failures and redrive."""
    penstock("create", "selected-to")
    penstock("create", "selected")
    bodies = {'{"order": {"id": 4}}': "timed out", '{"order": {"id": "4"}}': "refused", '{"other": 1}': "timed out"}
    for body, error in bodies.items():
        message = {"message": json.loads(body), "headers": {"error": error}}
        RestClient(endpoint).call("POST", "/queues/selected/messages", message)

    def select(*options: str) -> dict[str, list[object]]:
        commands = {name: lines(penstock(name, "selected", *options, "--json")) for name in ("peek", "search")}
        return {name: [row["message"] for row in rows] for name, rows in commands.items()}

    number, text, other = ({"order": {"id": 4}}, {"order": {"id": "4"}}, {"other": 1})
    assert select("--json", "order.id=4") == {"peek": [number], "search": [number]}
    assert select("--json", 'order.id="4"') == {"peek": [text], "search": [text]}
    assert [row["message"] for row in lines(penstock("search", "selected", "other", "--output", "json"))] == [other]
    assert select("--text", "other") == {"peek": [other], "search": [other]}
    assert select("--attribute", "error=timed out", "--text", "order") == {"peek": [number], "search": [number]}
    assert select("--attribute", "error", "--filter", '{"text": "other"}') == {"peek": [other], "search": [other]}
    assert select("--filter", '{"states": ["delayed"]}') == {"peek": [], "search": []}
    penstock("receive", "selected", "--max", "1", "--hide", "600")
    assert len(penstock("peek", "selected", "--text", "o").splitlines()) == 2
    assert len(penstock("peek", "selected", "--text", "o", "--state", "all").splitlines()) == 3
    groups = lines(penstock("failures", "selected", "--attribute", "error", "--json"))
    assert [(group["by"], group["count"]) for group in groups] == [
        ({"attribute": "timed out"}, 2), ({"attribute": "refused"}, 1)
    ]  # fmt: skip
    (group,) = lines(penstock("failures", "selected", "--attribute", "error", "--json", "order.id=4", "--json"))
    assert group["count"] == 1
    assert group["filter"] == {
        "json": {"path": "order.id", "equals": 4},
        "attribute": {"name": "error", "equals": "timed out"},
    }
    penstock("redrive", "selected", "--to", "selected-to", "--json", 'order.id="4"', "--wait", "--yes")
    assert [row["message"] for row in lines(penstock("peek", "selected-to", "--json"))] == [text]


@pytest.mark.parametrize(
    ("given", "by", "expected"),
    [
        ({"text": "a"}, "shape", True),
        ({"attribute": {"name": "error", "equals": "a"}}, "attribute", True),
        ({"attribute": {"name": "tenant", "equals": "a"}}, "attribute", False),
    ],
)
def test_the_filter_of_a_group_finds_the_group_within_the_filter(
    endpoint: str, given: dict[str, object], by: str, expected: bool
) -> None:
    """docs/reference/message_search.md: `filter` is null if no filter can describe the group."""
    client, path = RestClient(endpoint), "/queues/filtered-groups"
    with suppress(RefusedError):
        client.call("POST", "/queues", {"name": "filtered-groups"})
        sent = {"message": {"text": "a"}, "headers": {"error": "a", "tenant": "a"}}
        client.call("POST", f"{path}/messages", [sent, {"message": {"text": "b"}}])
    attribute = "error" if by == "attribute" else None
    response = client.call("GET", f"{path}/failures", by=by, attribute=attribute, filter=json.dumps(given))
    groups = response["groups"]
    assert isinstance(groups, list)
    (group,) = groups
    assert group["count"] == 1
    assert (group["filter"] is not None) is expected
    if expected:
        found = client.call("POST", f"{path}/messages/search", {"filter": group["filter"]})["messages"]
        assert isinstance(found, list)
        assert [message["message"] for message in found] == [{"text": "a"}]
    with pytest.raises(RefusedError, match="filter: "):
        client.call("GET", f"{path}/failures", filter='{"unknown": 1}')


def test_topics_and_who_gets_what(penstock: Command) -> None:
    penstock("create", "eu")
    said = [penstock("topics", "create", "news") for _ in range(2)]
    assert said == ["created news\n", "the topic news exists\n"]
    assert [row["name"] for row in lines(penstock("topics", "list", "--json"))] == ["news"]
    penstock("subscriptions", "create", "news", "--queue", "eu", "--raw", "--filter", '{"region": ["eu"]}')
    penstock("publish", "news", "lost", "--header", "region=us")
    penstock("publish", "news", "found", "--header", "region=eu")
    assert penstock("receive", "eu", "--wait", "20", "--max", "10").split()[3:] == ["found", 'region="eu"']
    (row,) = lines(penstock("subscriptions", "list", "news", "--json"))
    penstock("subscriptions", "delete", str(row["arn"]))
    assert lines(penstock("subscriptions", "list", "news", "--json")) == []
    assert "attributes.TopicArn" in penstock("topics", "show", "news")
    penstock("topics", "delete", "news", "--yes")
    assert lines(penstock("topics", "list", "--json")) == []


def test_queues_of_another_region(
    penstock: Command, endpoint: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands with --region see the queues that SDKs create in that region, and an unknown region is an error."""
    monkeypatch.setenv("PENSTOCK_REGION", "")  # The test restores the environment variable that --region sets.
    sqs = boto3.client(
        "sqs", endpoint_url=endpoint, region_name="eu-central-1", aws_access_key_id="x", aws_secret_access_key="x"
    )
    url = sqs.create_queue(QueueName="far")["QueueUrl"]
    assert main(["send", "far", "hello"]) == 1
    assert "lists the queues of the region us-east-1" in capsys.readouterr().err
    assert penstock("--region", "eu-central-1", "send", "far", "hello") == "sent 1 message to far\n"
    assert [message["Body"] for message in sqs.receive_message(QueueUrl=url)["Messages"]] == ['"hello"']
    monkeypatch.setenv("PENSTOCK_REGION", "eu-central-1")
    assert [row["name"] for row in lines(penstock("queues", "--json"))] == ["far"]
    assert "far:" in penstock("export")
    assert main(["--region", "no where", "queues"]) == 1
    assert "Penstock-Region: a region, such as us-east-1" in capsys.readouterr().err


def test_send_drops_a_repeated_deduplication_id(penstock: Command) -> None:
    penstock("create", "steps.fifo")
    penstock("send", "steps.fifo", "1", "--group", "a", "--dedup", "x")
    penstock("send", "steps.fifo", "2", "--group", "a", "--dedup", "x")
    assert [row["message"] for row in lines(penstock("peek", "steps.fifo", "--json"))] == [1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["queue", "missing"], "`penstock queues` lists the queues of the region us-east-1. `penstock --region NAME`"),
        (["mappings", "show", "missing"], "`penstock mappings list` lists the mappings."),
        (
            ["mappings", "put", "missing", "f"],
            "QUEUE_LAMBDA_ENDPOINT is empty. A mapping to a URL does not need this setting.",
        ),
        (["create", "a b"], "Can only include alphanumeric characters"),
        (["search", "missing", "--filter", '{"tex": 1}'], "unknown field `tex` - in `$.filter`"),
        (["schedules", "preview", "--when", "evry weekday at 9"], 'Did you mean "every weekday at 9"?'),
        (["schedules", "preview", "--cron", "61 * * * *"], "not 61. Examples: */5 * * * *; "),
        (["schedules", "preview"], "exactly one of --cron, --every, --when and --at"),
        (["schedules", "put", "x", "--message", "y", "--every", "1h"], "either --queue or --event"),
        (["schedules", "delete", "missing"], "chedule"),
        (["deliveries", "list", "--state", "lost"], "state"),
        (["status", "--endpoint", "http://127.0.0.1:1"], "no service responds at http://127.0.0.1:1 "),
        (["purge", "missing"], "nothing was deleted: without a terminal, pass --yes"),
        (["queues", "--endpoint", "http://127.0.0.1:1"], "no service responds at http://127.0.0.1:1 "),
        (["edit", "orders", "--set", "a=1"], "--filter '{}' selects all messages"),
        (["message", "abc"], "'abc' is not a message id. An id is a UUID, such as 0f8fad5b-"),
        (["redrive", "missing", "--yes"], "Queue 'missing' does not exist. `penstock queues` lists"),
        (["subscriptions", "create", "news"], "either --queue or --url"),
        (["subscriptions", "create", "news", "--queue", "missing"], "Queue 'missing' does not exist."),
        (["create", "orders", "--max-receives", "2"], "--max-receives needs --dead-letters QUEUE"),
        (["subscriptions", "delete", "news"], "news is not the ARN of a subscription"),
        (["publish", "missing", "x"], "Topic does not exist. `penstock topics list` lists"),
        (["webhooks", "pause", "https://a.example/"], "this endpoint. `penstock webhooks list` lists the endpoints."),
        (["webhooks", "test", "https://a.example/"], "No topic and no routing key delivers to this URL"),
        (["queues", "--endpoint", "nowhere"], "nowhere is not an address such as http"),
    ],
)
def test_errors_are_a_line(
    penstock: Command, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    del penstock  # the address is set
    assert main(arguments) == 1
    output = capsys.readouterr()
    assert output.out == ""
    (line,) = output.err.splitlines()
    assert line.startswith("penstock: ")
    assert said in line
    assert "/v1/" not in line


@pytest.mark.parametrize(
    "arguments",
    [
        ["peek", "\x1b]0;x\x07"], ["queues", "\x1b[2K"], ["schedules", "show", "a\x9b2K"], ["\x1b[2K"],
        ["peek", "orders", "--state", "\x1b[2K"], ["send", "\x1b[2K", "x"], ["peek", "--\x1b[2K"],
        ["users", "show", "\x1b[2K", "--endpoint", "http://127.0.0.1:1"],
        ["queues", "--endpoint", "http://\x1b[2K"], ["doctor", "--database", "postgresql://\x1b[2K@127.0.0.1:1/x"],
        ["demo", "--endpoint", "http://127.0.0.1:1/\x1b[2K"], ["keys", "create", "--expires", "\x1b[2K"],
    ],
)  # fmt: skip
def test_no_error_writes_to_the_terminal(
    penstock: Command, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    del penstock  # the address is set
    with suppress(SystemExit):
        assert main(arguments) == 1
    output = capsys.readouterr()
    printed = output.out + output.err
    assert printed
    assert all(sign.isprintable() or sign == "\n" for sign in printed), printed


def test_json_does_not_write_to_the_terminal(penstock: Command) -> None:
    penstock("create", "controls")
    penstock("send", "controls", "a\x9b2K\x7f\x1b[2K")
    printed = penstock("peek", "controls", "--json")
    assert all(sign.isprintable() or sign == "\n" for sign in printed), printed
    assert lines(printed)[0]["message"] == "a\x9b2K\x7f\x1b[2K"
