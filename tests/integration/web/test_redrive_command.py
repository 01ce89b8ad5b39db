"""Tests the question of `penstock redrive` and the rate of `penstock edit` (docs/reference/command_line.md)."""

import io
import sys

import psycopg
import pytest

from penstock_web.cli import main
from tests.support.database import TestServer
from tests.support.programs.penstock_service import running_service


class FakeTerminal(io.StringIO):
    """Holds what a user types."""

    def isatty(self) -> bool:
        return True


def test_redrive_asks_with_the_number(
    postgres: TestServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgres.database() as database, running_service(database.api_dsn) as service, service.http() as http:
        for name in ("asked", "asked-to"):
            http.post("/v1/queues", json={"name": name}).raise_for_status()
        sent = [{"message": text} for text in ("a 1", "a 2", "b")]
        http.post("/v1/queues/asked/messages", json=sent).raise_for_status()
        assert main(["redrive", "asked", "--endpoint", service.url]) == 1
        assert capsys.readouterr().err == "penstock: nothing was moved: without a terminal, pass --yes\n"
        for typed, options, asked in (
            ("n\n", [], "Move 3 messages of asked to the source queues? [y/N]"),
            ("n\n", ["--text", "a"], "Move 2 messages of asked to the source queues? [y/N]"),
            (
                "n\n",
                ["--canary", "1"],
                "Move 3 messages of asked to the source queues, 1 message first as a canary? [y/N]",
            ),
            ("n\n", ["--id", "7", "--to", "asked-to"], "Move 1 message of asked to asked-to? [y/N]"),
            ("y\n", ["--text", "none", "--to", "asked-to"], "Move 0 messages of asked to asked-to? [y/N]"),
        ):
            monkeypatch.setattr(sys, "stdin", FakeTerminal(typed))
            assert main(["redrive", "asked", *options, "--endpoint", service.url]) == (1 if typed == "n\n" else 0)
            output = capsys.readouterr()
            assert asked in output.out
            assert (output.err == "penstock: nothing was moved\n") == (typed == "n\n")
        assert len(http.get("/v1/queues/asked/messages/peek").json()) == 3
        for wrong in (["queue", "askd"], ["redrive", "asked", "--to", "askd", "--yes"]):
            assert main([*wrong, "--endpoint", service.url]) == 1
            assert capsys.readouterr().err.rstrip().endswith('Did you mean "asked"?')


def test_lists_have_ids_and_redrive_names_the_source_queue_and_the_next_step(
    postgres: TestServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgres.database() as database, running_service(database.api_dsn) as service, service.http() as http:
        for command in (
            ["create", "dead"],
            ["create", "jobs", "--dead-letters", "dead", "--max-receives", "1"],
            ["send", "jobs", "x"],
            ["receive", "jobs", "--hide", "0"],
            ["receive", "jobs"],
        ):
            assert main([*command, "--endpoint", service.url]) == 0
        monkeypatch.setattr(sys, "stdin", FakeTerminal("n\n"))
        assert main(["redrive", "dead", "--canary", "1", "--endpoint", service.url]) == 1
        assert "Move 1 message of dead to jobs, 1 message first as a canary? [y/N]" in capsys.readouterr().out
        (broken,) = http.get("/v1/queues/dead/messages/peek").json()

        def output(*command: str) -> str:
            assert main([*command, "--endpoint", service.url]) == 0
            return capsys.readouterr().out

        for listing in ("peek", "search"):
            assert output(listing, "dead").split()[0] == str(broken["id"])
        assert f"  {broken['id']}  " in output("failures", "dead")
        by_number = output("message", str(broken["id"]), "--queue", "dead")
        assert output("message", broken["message_id"]) == by_number
        moved = output("redrive", "dead", "--canary", "1", "--yes")
        (move,) = http.get("/v1/queues/dead/moves").json()["moves"]
        assert f"`penstock moves continue dead {move['id']}`" in moved


def test_an_edit_has_a_rate_over_all_requests(
    postgres: TestServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request edits two messages here. The next request waits until their copies are visible."""
    constants = {"penstock.management.messages.editing.MAX_REPLACED": 2}
    pauses: list[float] = []
    with (
        postgres.database() as database,
        running_service(database.api_dsn, constants=constants) as service,
        service.http() as http,
    ):
        for name in ("rated", "rated-to"):
            http.post("/v1/queues", json={"name": name}).raise_for_status()
        http.post("/v1/queues/rated/messages", json=[{"message": {"n": n}} for n in range(3)]).raise_for_status()
        edit = ["edit", "rated", "--set", "n=9", "--filter", "{}", "--to", "rated-to", "--endpoint", service.url]
        monkeypatch.setattr("time.sleep", pauses.append)
        assert main([*edit, "--rate", "1", "--preview"]) == 0
        assert pauses == [], "a preview changes nothing"
        assert main([*edit, "--rate", "1"]) == 0
        assert capsys.readouterr().out.endswith("sent 2 edited messages\nsent 1 edited message\n")
        assert pauses == [2]
        with psycopg.connect(database.dsn) as db:
            rows = db.execute("select s.visible_at > s.sent_at from queue.side s").fetchall()
    assert rows == [(True,)], "the second copy of the first request has a delay"
