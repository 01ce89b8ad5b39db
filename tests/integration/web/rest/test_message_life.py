"""Tests the life of a message over the REST API: the known facts after each step, the unknown facts, and ids without a
message."""

import json
from functools import partial
from typing import Any

import httpx
import pytest

from penstock_web.cli import main
from tests.support.conformance.requests import error_of
from tests.support.programs.penstock_service import Service
from tests.support.wait import wait_until

# The maintenance deletes the rows of ended messages, so it waits until the tests have ended.
pytestmark = [
    pytest.mark.shared,
    pytest.mark.settings(
        QUEUE_MOVE_INTERVAL_MS="50", QUEUE_METRICS_INTERVAL_MS="100", QUEUE_MAINTAIN_INTERVAL_MS="3600000"
    ),
]

BOTH = pytest.mark.parametrize("suffix", ["", ".fifo"])
NEVER = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def sqs(service: Service) -> Any:
    client = service.sqs()
    yield client
    client.close()


def create(http: httpx.Client, name: str, **attributes: object) -> str:
    http.post("/v1/queues", json={"name": name, "attributes": attributes}).raise_for_status()
    return name


def create_pair(http: httpx.Client, name: str, suffix: str, receives: int, **attributes: object) -> tuple[str, str]:
    dead = create(http, f"{name}-dead{suffix}", **attributes)
    arn = http.get(f"/v1/queues/{dead}").json()["arn"]
    policy = {"deadLetterTargetArn": arn, "maxReceiveCount": receives}
    return create(http, f"{name}{suffix}", RedrivePolicy=policy, **attributes), dead


def send(http: httpx.Client, name: str, body: object = "m") -> int:
    fifo = {"group_id": "g", "dedup_id": str(body)} if name.endswith(".fifo") else {}
    response = http.post(f"/v1/queues/{name}/messages", json={"message": body, **fifo})
    return int(response.raise_for_status().json()["id"])


def receive(http: httpx.Client, name: str, vt: int | None = None) -> Any:
    parameters = {} if vt is None else {"vt": vt}
    return http.get(f"/v1/queues/{name}/messages", params=parameters).raise_for_status().json()


def life(http: httpx.Client, name: str, message: object) -> Any:
    return http.get(f"/v1/queues/{name}/messages/{message}").raise_for_status().json()


def anywhere(http: httpx.Client, message_id: str) -> Any:
    return http.get(f"/v1/messages/{message_id}").raise_for_status().json()


def steps(document: Any) -> list[tuple[str, str, int | None]]:
    return [(event["what"], event["queue"], event.get("receive")) for event in document["events"]]


def facts(document: Any, *names: str) -> list[Any]:
    return [document[name] for name in names]


def fail_three_times(http: httpx.Client, name: str, number: int) -> Any:
    """Receives the message three times and reports a cause each time. Returns its life."""
    for count in (1, 2, 3):
        (message,) = receive(http, name, 60)
        held = life(http, name, number)
        assert facts(held, "state", "receive_count") == ["in_flight", count]
        assert held["visible_at"] > held["last_received_at"] >= held["first_received_at"]
        failure = {"error": f"no stock {count}", "vt": 0}
        http.post(f"/v1/queues/{name}/messages/{message['receipt']}/fail", json=failure).raise_for_status()
    return life(http, name, number)


def redrive(http: httpx.Client, name: str, dead: str, number: int) -> Any:
    """Moves the dead letter back. Returns the life of the message in its queue."""
    http.post(f"/v1/queues/{dead}/moves", json={"ids": [number]}).raise_for_status()
    wait_until(lambda: http.get(f"/v1/queues/{name}").json()["visible"] == 1)
    (peeked,) = http.get(f"/v1/queues/{name}/messages/peek").json()
    return life(http, name, peeked["id"])


@BOTH
def test_the_whole_life_of_a_message(http: httpx.Client, suffix: str) -> None:
    """Send, three receives, failures with causes, dead letter, redrive, receive, delete."""
    orders, dead = create_pair(http, "orders", suffix, 3, PenstockTrace=True)
    number = send(http, orders)
    new = life(http, orders, number)
    assert facts(new, "state", "receive_count", "first_received_at", "visible_at") == ["visible", 0, None, None]
    assert (steps(new), new["unknown"]) == ([("sent", orders, None)], [])
    message_id = new["message_id"]
    failed = fail_three_times(http, orders, number)
    tried = [(what, orders, count) for count in (1, 2, 3) for what in ("received", "failed")]
    assert steps(failed) == [("sent", orders, None), *tried]
    assert [event["detail"] for event in failed["events"] if event["what"] == "failed"][-1] == "no stock 3"
    receivers = {(event["by"], event["user_agent"][:12]) for event in failed["events"] if event["what"] == "received"}
    assert receivers == {("arn:aws:iam::000000000000:root", "python-httpx")}
    assert receive(http, orders) == []
    # The dead letter has the message's id.
    letter = anywhere(http, message_id)
    assert facts(letter, "queue", "state", "source_queue", "receive_count") == [dead, "visible", orders, 3]
    assert steps(letter) == [("sent", orders, None), *tried, ("dead_lettered", dead, None)]
    assert facts(letter, "entered_by", "sent_at", "unknown") == ["dead_lettered", new["sent_at"], []]
    # A redrive gives the message a new id, and its life knows the former one.
    moved = redrive(http, orders, dead, letter["id"])
    former = anywhere(http, message_id)
    assert former["queue"] == orders
    assert [step for step in steps(former) if step[0] in ("received", "failed")] == tried
    assert moved["former_message_id"] == message_id != moved["message_id"]
    assert facts(moved, "state", "entered_by", "receive_count") == ["visible", "moved", 0]
    redriven = [("dead_lettered", dead, None), ("acted", dead, None), ("moved", orders, None)]
    assert steps(moved) == [("sent", orders, None), *tried, *redriven]
    assert moved["sent_at"] == moved["events"][0]["at"] == new["sent_at"]
    assert [event.get("source_queue") for event in moved["events"][-3:]] == [orders, None, dead]
    assert moved["events"][-1]["detail"] is not None
    assert facts(moved, "source_queue", "unknown") == [dead, []]
    (message,) = receive(http, orders)
    assert steps(life(http, orders, moved["id"]))[-1] == ("received", orders, 1)
    http.delete(f"/v1/queues/{orders}/messages/{message['id']}").raise_for_status()
    ended = anywhere(http, moved["message_id"])
    assert facts(ended, "state", "visible_at") == ["deleted", None]
    assert steps(ended)[-1] == ("deleted", orders, None)
    assert ended["ended_at"] == ended["events"][-1]["at"]


def fail_into(http: httpx.Client, name: str, dead: str, error: str) -> int:
    """Receives the message once and reports a cause. Returns the number of the dead letter."""
    (message,) = receive(http, name, 60)
    path = f"/v1/queues/{name}/messages/{message['receipt']}/fail"
    http.post(path, json={"error": error, "vt": 0}).raise_for_status()
    assert receive(http, name) == []
    (letter,) = http.get(f"/v1/queues/{dead}/messages/peek").json()
    return int(letter["id"])


@BOTH
@pytest.mark.parametrize("traced", [True, False])
def test_redrives_forget_neither_failures_nor_moves(http: httpx.Client, suffix: str, traced: bool) -> None:
    """Four redrives, two of them by a task that moves every message. The last dead letter stays."""
    name, dead = create_pair(http, f"again-{traced}".lower(), suffix, 1, PenstockTrace=traced)
    sent = life(http, name, send(http, name))["sent_at"]
    ids = []
    for turn in range(4):
        letter = fail_into(http, name, dead, f"no {turn}")
        ids.append(life(http, dead, letter)["message_id"])
        if turn < 2:
            redrive(http, name, dead, letter)
        else:
            http.post(f"/v1/queues/{dead}/moves", json={"filter": {}}).raise_for_status()
            wait_until(lambda: http.get(f"/v1/queues/{name}").json()["visible"] == 1)
    shown = life(http, dead, fail_into(http, name, dead, "no 4"))
    events = [event for event in shown["events"] if event["what"] not in ("received", "acted")]
    turns = ["failed", "dead_lettered", "moved"] * 4
    assert [event["what"] for event in events] == ["sent", *turns, "failed", "dead_lettered"]
    assert [event["at"] for event in events] == sorted(event["at"] for event in events)
    assert [event["detail"] for event in events if event["what"] == "failed"] == [f"no {turn}" for turn in range(5)]
    assert [event["message_id"] for event in events if event["what"] == "moved"] == ids == list(dict.fromkeys(ids))
    moves = [(event["source_queue"], event["queue"]) for event in events if "source_queue" in event]
    assert moves == [(name, dead), (dead, name)] * 4 + [(name, dead)]
    assert facts(shown, "sent_at", "former_message_id", "entered_by") == [sent, ids[-1], "dead_lettered"]
    assert not any(event.get("is_original") for event in shown["events"])
    received = [event for event in shown["events"] if event["what"] == "received"]
    receivers = "The receivers of 4 of the 4 receives before the last move are not known."
    assert (receivers in shown["unknown"]) is not traced
    # A FIFO queue's row does not keep the first receive of a message that left it.
    assert len(received) == 5 or (suffix, traced) == (".fifo", False)
    times = "When 4 of the 4 receives before the last move happened is not known."
    assert (times in shown["unknown"]) is (len(received) < 5)


def has_message(http: httpx.Client, name: str) -> bool:
    return bool(http.get(f"/v1/queues/{name}").json()["visible"])


def test_a_life_says_that_it_does_not_know_the_first_moves(http: httpx.Client) -> None:
    """A message keeps its last 40 moves."""
    first, second = create(http, "swing-a"), create(http, "swing-b")
    sent = life(http, first, send(http, first))["sent_at"]
    for _ in range(21):
        for source, target in ((first, second), (second, first)):
            (peeked,) = http.get(f"/v1/queues/{source}/messages/peek").json()
            http.post(f"/v1/queues/{source}/moves", json={"ids": [peeked["id"]], "to": target}).raise_for_status()
            wait_until(partial(has_message, http, target))
    (peeked,) = http.get(f"/v1/queues/{first}/messages/peek").json()
    shown = life(http, first, peeked["id"])
    assert [what for what, _, _ in steps(shown)].count("moved") == 40
    assert shown["unknown"][0] == "The first 2 moves of the message cannot be shown: a message keeps its last 40."
    assert facts(shown, "sent_at", "source_queue") == [sent, second]
    # Clients see nothing of the moves.
    (message,) = receive(http, first)
    assert "Moves" not in json.dumps(message)


@BOTH
def test_an_edited_copy_shows_the_failures_of_the_original(http: httpx.Client, suffix: str) -> None:
    """The original was redriven before the edit, and the copy is edited again."""
    name, dead = create_pair(http, "mended", suffix, 1)
    send(http, name)
    redrive(http, name, dead, fail_into(http, name, dead, "first"))
    number, queue = fail_into(http, name, dead, "second"), dead
    for body in ("n", "o"):
        new = {"message": body, **({"dedup_id": body} if suffix else {})}
        path = f"/v1/queues/{queue}/messages/{number}/edit"
        number, queue = http.post(path, json=new).raise_for_status().json()["id"], name
    copy = life(http, name, number)
    failures = [(e["detail"], e["is_original"]) for e in copy["events"] if e["what"] == "failed"]
    assert failures == [("first", True), ("second", True)]
    assert [what for what, _, _ in steps(copy) if what in ("dead_lettered", "moved", "edited_from", "sent")] == [
        "sent", "dead_lettered", "moved", "dead_lettered", "sent", "edited_from", "sent", "edited_from",
    ]  # fmt: skip
    fail_into(http, name, dead, "third")
    (letter,) = http.get(f"/v1/queues/{dead}/messages/peek").json()
    last = life(http, dead, letter["id"])["events"]
    failures = [(e["detail"], e.get("is_original", False)) for e in last if e["what"] == "failed"]
    assert failures == [("first", True), ("second", True), ("third", False)]


def test_facts_without_a_record_stay_unknown(http: httpx.Client) -> None:
    """A queue without a history and without PenstockTrace."""
    quiet, dead = create_pair(http, "quiet", "", 2, history=False)
    number = send(http, quiet)
    for _ in range(2):
        receive(http, quiet, 0)
    before = life(http, quiet, number)
    assert facts(before, "receive_count", "queue") == [2, quiet]
    assert [event.get("by") for event in before["events"]] == [None] * 3
    assert before["unknown"] == [
        f"The receivers in {quiet} are not known: the queue has not recorded them (attribute PenstockTrace)."
    ]
    assert receive(http, quiet) == []
    (letter,) = http.get(f"/v1/queues/{dead}/messages/peek").json()
    shown = life(http, dead, letter["id"])
    assert shown["receive_count"] == 2
    assert f"The receivers in {quiet} are not known" in shown["unknown"][-1]
    assert shown["first_received_at"] == before["first_received_at"]
    http.delete(f"/v1/queues/{dead}/messages/{letter['id']}").raise_for_status()
    # Nothing is left of the letter, but the queue from which it came still has a row.
    assert error_of(http.get(f"/v1/queues/{dead}/messages/{letter['id']}")) == (404, "message_not_found")
    assert facts(anywhere(http, shown["message_id"]), "queue", "state") == [quiet, "dead_lettered"]


def test_a_deleted_message_is_found_by_its_id_in_the_archive(http: httpx.Client) -> None:
    kept = create(http, "kept", archive=True)
    number = send(http, kept)
    message_id = life(http, kept, number)["message_id"]
    http.delete(f"/v1/queues/{kept}/messages/{number}").raise_for_status()
    for shown in (anywhere(http, message_id), life(http, kept, number), life(http, kept, message_id)):
        assert facts(shown, "state", "message_id", "id", "receive_count") == ["deleted", message_id, number, 0]
        assert {event["what"] for event in shown["events"]} == {"sent", "archived", "deleted"}
        assert shown["sent_at"] is not None


def test_an_act_of_a_person_belongs_to_the_life(http: httpx.Client) -> None:
    held, dead = create_pair(http, "held", "", 1)
    send(http, held)
    receive(http, held, 0)
    receive(http, held, 0)
    (letter,) = http.get(f"/v1/queues/{dead}/messages/peek").json()
    receive(http, dead, 60)  # The move skips a message in flight.
    http.post(f"/v1/queues/{dead}/moves", json={"ids": [letter["id"]]}).raise_for_status()
    shown = life(http, dead, letter["id"])
    what = {event["what"]: event.get("detail") for event in shown["events"]}
    assert what["acted"] == "sqs:StartMessageMoveTask"
    assert what["selected"] is not None
    assert shown["state"] == "in_flight"


@BOTH
def test_an_edit_connects_the_lives_of_the_original_and_the_copy(http: httpx.Client, suffix: str) -> None:
    fixed, dead = create_pair(http, "fixed", suffix, 1, history=False)
    sent = life(http, fixed, send(http, fixed))["sent_at"]
    receive(http, fixed, 0)
    receive(http, fixed, 0)
    (letter,) = http.get(f"/v1/queues/{dead}/messages/peek").json()
    original = life(http, dead, letter["id"])["message_id"]
    body = {"message": "n", **({"dedup_id": "n"} if suffix else {})}
    copied = http.post(f"/v1/queues/{dead}/messages/{letter['id']}/edit", json=body).raise_for_status().json()["id"]
    copy = life(http, fixed, copied)
    assert (copy["former_message_id"], copy["state"]) == (original, "visible")
    known = [(what, queue) for what, queue, _ in steps(copy) if what != "acted"]
    received = [("received", fixed)] if suffix == "" else []  # a FIFO queue forgets the first receive
    original_life = [("sent", fixed), *received, ("dead_lettered", dead)]
    assert known == [*original_life, ("sent", fixed), ("edited_from", dead)]
    assert copy["events"][-1]["detail"] == original
    is_original = [event.get("is_original", False) for event in copy["events"] if event["what"] != "acted"]
    assert is_original == [True] * len(original_life) + [False, False]
    assert copy["sent_at"] == copy["entered_at"] > sent
    for shown in (life(http, dead, letter["id"]), life(http, dead, original)):
        assert facts(shown, "state", "id", "message_id", "receive_count") == ["deleted", letter["id"], original, 1]
        assert steps(shown)[-2:] == [("edited", fixed, None), ("deleted", dead, None)]
        assert shown["events"][-2]["detail"] == copy["message_id"]
        assert shown["sent_at"] == sent
    # The link survives a redrive of the copy, which gives it another id.
    receive(http, fixed, 0)
    receive(http, fixed, 0)
    (again,) = http.get(f"/v1/queues/{dead}/messages/peek").json()
    moved = redrive(http, fixed, dead, again["id"])
    assert ("edited_from", dead, None) in steps(moved)
    assert moved["former_message_id"] == copy["message_id"]


def test_a_replacement_connects_only_the_replaced_messages(http: httpx.Client) -> None:
    bulk = create(http, "bulk")
    numbers = [send(http, bulk, body) for body in ({"a": 1}, {"b": 1})]
    original = life(http, bulk, numbers[0])["message_id"]
    body = {"ids": numbers, "path": "a", "value": 2}
    assert http.post(f"/v1/queues/{bulk}/messages/replace", json=body).json()["replaced"] == 1
    shown = life(http, bulk, numbers[0])
    (edited,) = [event for event in shown["events"] if event["what"] == "edited"]
    copy = anywhere(http, edited["detail"])
    assert (copy["former_message_id"], anywhere(http, original)["id"]) == (original, numbers[0])
    assert steps(life(http, bulk, numbers[1])) == [("sent", bulk, None)]


@pytest.mark.parametrize(
    "message",
    ["999999", str(2**63 - 1), str(2**63), "-1", "0x1", "1e3", NEVER, NEVER.upper(), NEVER[:-1], f"{{{NEVER[1:-1]}}}",
     NEVER.replace("-", ""), "%00", "%ED%A0%80", "'%20or%201=1--", "%3Cscript%3E", "٣", "x" * 64],
)  # fmt: skip
def test_ids_of_no_message_are_404(http: httpx.Client, message: str) -> None:
    if http.get("/v1/queues/nothing").status_code == 404:
        create(http, "nothing")
    for path in (f"/v1/queues/nothing/messages/{message}", f"/v1/messages/{message}"):
        response = http.get(path)
        assert (response.status_code, response.json()["error"]["code"]) == (404, "message_not_found"), path
    assert error_of(http.get(f"/v1/queues/is-not-there/messages/{message}"))[0] == 404


def test_a_search_says_how_much_it_looked_at(http: httpx.Client) -> None:
    text = http.get(f"/v1/messages/{NEVER}").json()["error"]["message"]
    assert "looked at all" in text
    assert "PenstockTrace" in text


def test_the_attribute_is_shown_only_by_name(http: httpx.Client, sqs: Any) -> None:
    url = sqs.create_queue(QueueName="named", Attributes={"PenstockTrace": "True"})["QueueUrl"]

    def shown(*names: str) -> Any:
        return sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(names)).get("Attributes", {})

    assert shown("PenstockTrace") == {"PenstockTrace": "true"}
    assert "PenstockTrace" not in shown("All")
    assert shown("All", "PenstockTrace")["PenstockTrace"] == "true"
    assert sqs.create_queue(QueueName="named")["QueueUrl"] == url
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"PenstockTrace": "false"})
    assert shown("PenstockTrace") == {"PenstockTrace": "false"}
    assert http.get("/v1/queues/named").json()["attributes"]["PenstockTrace"] == "false"
    with pytest.raises(sqs.exceptions.ClientError, match="PenstockTrace"):
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"PenstockTrace": "yes"})
    with pytest.raises(sqs.exceptions.ClientError, match="Unknown Attribute PenstockOther"):
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"PenstockOther": "true"})


def test_the_command_prints_a_life(
    http: httpx.Client, service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PENSTOCK_ENDPOINT", service.url)

    def penstock(*arguments: str) -> str:
        assert main(("message", *arguments)) == 0
        return capsys.readouterr().out

    traced, untraced = create(http, "traced", PenstockTrace=True), create(http, "untraced")
    number, other = str(send(http, traced)), str(send(http, untraced))
    for name in (traced, untraced):
        receive(http, name)
    document = json.loads(penstock(number, "--queue", traced, "--json"))
    assert facts(document, "state", "receive_count") == ["in_flight", 1]
    printed = penstock(document["message_id"])
    assert printed == penstock(document["message_id"], "--queue", traced) == penstock(number, "--queue", traced)
    shown, events = printed.split("\n\n")
    assert [line.split()[0] for line in shown.splitlines()][:4] == ["message_id", "id", "queue", "state"]
    assert [line.split()[1:3] for line in events.splitlines()] == [
        ["what", "queue"], ["sent", traced], ["received", traced],
    ]  # fmt: skip
    assert "arn:aws:iam::000000000000:root  python-httpx/" in events
    assert f"The receivers in {untraced} are not known" in penstock(other, "--queue", untraced)
    for arguments in ((number,), ("../queues",), ("9", "--queue", traced)):
        assert main(("message", *arguments)) == 1
        assert capsys.readouterr().err.count("\n") == 1
