"""Tests execution environments: the state between invocations, long polls, imports, and scheduled runs."""

import json
import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from types import SimpleNamespace

import psycopg
import pytest

from penstock import drivers
from penstock.errors import InternalFailure
from penstock.lambda_runtime import scheduled
from penstock.lambda_runtime.environment import ExecutionEnvironment
from penstock.settings import DRIVERS, Settings
from penstock_web.local.postgres import ROLE
from tests.support.database import Database, end_sessions
from tests.support.functions.invocations import QUEUE_URL, call, invoke, json_request
from tests.support.functions.server import FUNCTIONS, ROOT, Functions, load_handler
from tests.support.local_lambda.events import Request, event_of


@pytest.fixture
def direct(database: Database) -> Iterator[Functions]:
    """Runs the functions without PgBouncer."""
    with Functions(database.api_dsn) as functions:
        call(functions, "CreateQueue", QueueName="orders")
        yield functions


def end_connections(database: Database) -> int:
    with psycopg.connect(database.dsn, autocommit=True) as administrator:
        return end_sessions(administrator)


def sessions(database: Database) -> list[tuple[int, str]]:
    """Returns the process ids and states of the service's sessions."""
    with psycopg.connect(database.dsn) as administrator:
        return administrator.execute(
            "select pid, state from pg_stat_activity where datname = current_database()"
            " and pid <> pg_backend_pid() and backend_type = 'client backend'"
        ).fetchall()


# --- the connection --------------------------------------------------------------------------------------------------
def test_one_connection_is_kept(database: Database, direct: Functions) -> None:
    end_connections(database)
    call(direct, "SendMessage", QueueUrl=QUEUE_URL, MessageBody="1")
    (first,) = sessions(database)
    call(direct, "SendMessage", QueueUrl=QUEUE_URL, MessageBody="2")
    assert sessions(database) == [first]


def test_a_lost_connection_is_replaced(database: Database, direct: Functions) -> None:
    call(direct, "SendMessage", QueueUrl=QUEUE_URL, MessageBody="before")
    assert end_connections(database) == 2  # CreateQueue and SendMessage each have one environment.
    assert invoke(direct, json_request("SendMessage", QueueUrl=QUEUE_URL, MessageBody="after")).status == 200


def test_environments_share_the_key_of_receipt_handles(database: Database) -> None:
    with Functions(database.pooled_dsn) as here, Functions(database.pooled_dsn) as there:
        call(here, "CreateQueue", QueueName="orders")
        call(here, "SendMessage", QueueUrl=QUEUE_URL, MessageBody="b")
        (message,) = call(here, "ReceiveMessage", QueueUrl=QUEUE_URL)["Messages"]
        handle = message["ReceiptHandle"]
        call(there, "ChangeMessageVisibility", QueueUrl=QUEUE_URL, ReceiptHandle=handle, VisibilityTimeout=0)
        (message,) = call(there, "ReceiveMessage", QueueUrl=QUEUE_URL)["Messages"]
        call(here, "DeleteMessage", QueueUrl=QUEUE_URL, ReceiptHandle=message["ReceiptHandle"])
        attributes = call(there, "GetQueueAttributes", QueueUrl=QUEUE_URL, AttributeNames=["All"])["Attributes"]
    assert attributes["ApproximateNumberOfMessages"] == "0"
    assert attributes["ApproximateNumberOfMessagesNotVisible"] == "0"


def test_a_cold_start_names_settings_that_sessions_lack(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    """The function logs the missing settings once. If the role has all settings, the function does not import the
    logger."""
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        untuned = f"alter role {ROLE} in database {database.name} set plan_cache_mode = auto"
        connection.execute(untuned.encode())
    handler = load_handler("gateway", {"DATABASE_URL": database.pooled_dsn})
    handler.environment.logger = logging.getLogger("test")
    for _ in range(2):
        handler(event_of("http_api", json_request("ListQueues")), None)
    handler.environment.close()
    (record,) = caplog.records
    assert (record.levelname, "(plan_cache_mode)" in record.message) == ("WARNING", True)


# --- long polls ------------------------------------------------------------------------------------------------------
class Pause:
    """Replaces `time` in the driver. The first sleep ends when the test sets the event `over`."""

    monotonic = staticmethod(time.monotonic)

    def __init__(self) -> None:
        self.begun = Event()
        self.over = Event()

    def sleep(self, seconds: float) -> None:
        self.begun.set()
        assert self.over.wait(60)


@pytest.fixture
def pause(monkeypatch: pytest.MonkeyPatch) -> Pause:
    pause = Pause()
    monkeypatch.setattr(drivers, "time", pause)
    return pause


@pytest.mark.parametrize("lose_connections", [False, True])
def test_a_message_sent_meanwhile(database: Database, direct: Functions, pause: Pause, lose_connections: bool) -> None:
    with ThreadPoolExecutor(1) as thread:
        receive = thread.submit(call, direct, "ReceiveMessage", QueueUrl=QUEUE_URL, WaitTimeSeconds=20)
        assert pause.begun.wait(60)
        assert {state for _, state in sessions(database)} == {"idle"}  # no session has an open transaction
        if lose_connections:
            end_connections(database)
        sent = call(direct, "SendMessage", QueueUrl=QUEUE_URL, MessageBody="b")
        pause.over.set()
        (message,) = receive.result()["Messages"]
    assert message["MessageId"] == sent["MessageId"]


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Returns how long the driver sleeps each time, by a clock that only sleeps advance."""
    pauses: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: sum(pauses), sleep=pauses.append)
    monkeypatch.setattr(drivers, "time", clock)
    return pauses


def test_a_wait_for_nothing(direct: Functions, pauses: list[float]) -> None:
    assert not (call(direct, "ReceiveMessage", QueueUrl=QUEUE_URL, WaitTimeSeconds=7) or {}).get("Messages")
    assert sum(pauses) == pytest.approx(7)
    assert max(pauses) <= drivers.MAX_PAUSE_SECONDS


def test_pauses_grow_while_nobody_gets_what_is_ready(
    database: Database, direct: Functions, pauses: list[float]
) -> None:
    """Another transaction has locked the only message group. The queue is ready, but a receive returns no message."""
    url = f"{QUEUE_URL}.fifo"
    call(direct, "CreateQueue", QueueName="orders.fifo", Attributes={"FifoQueue": "true"})
    ids = {"MessageGroupId": "g", "MessageDeduplicationId": "1"}
    call(direct, "SendMessage", QueueUrl=url, MessageBody="b", **ids)
    with psycopg.connect(database.dsn) as somebody:
        somebody.execute("select from queue.fifo_group for update")
        response = call(direct, "ReceiveMessage", QueueUrl=url, WaitTimeSeconds=20)
    assert not (response or {}).get("Messages")
    assert pauses[:5] == pytest.approx([0.05, 0.1, 0.2, 0.4, 0.8])
    assert pauses[5:-1] == [drivers.MAX_PAUSE_SECONDS] * 18
    assert sum(pauses) == pytest.approx(20)


LONG_POLL = json_request("ReceiveMessage", QueueUrl=QUEUE_URL, WaitTimeSeconds=20)
REST_LONG_POLL = Request(method="GET", path="/v1/queues/orders/messages", query="wait=20")
LONG_POLLS = {"gateway": LONG_POLL, "rest": REST_LONG_POLL}


@pytest.mark.parametrize("function", LONG_POLLS)
def test_a_response_as_it_should_be_is_not_logged(
    direct: Functions, pauses: list[float], caplog: pytest.LogCaptureFixture, function: str
) -> None:
    with caplog.at_level(logging.INFO):
        assert invoke(direct, LONG_POLLS[function], function).status == 200
    assert caplog.messages == []


@pytest.mark.parametrize("function", LONG_POLLS)
def test_functions_that_answer_everything_wait_for_two_seconds(
    direct: Functions, pauses: list[float], function: str
) -> None:
    """The function `gateway` serves all actions, and any action can need its environments. A separate ReceiveMessage
    function waits as long as requested."""
    assert invoke(direct, LONG_POLLS[function], function).status == 200
    assert sum(pauses) == pytest.approx(2)


def test_the_gateway_does_not_wait_longer_at_the_limit_of_messages_in_flight(
    direct: Functions, database: Database, pauses: list[float]
) -> None:
    """A long poll then retries every second (ReceiveMessage, OverLimit)."""
    for body in ("in flight", "waits"):
        call(direct, "SendMessage", QueueUrl=QUEUE_URL, MessageBody=body)
    call(direct, "ReceiveMessage", QueueUrl=QUEUE_URL)
    with Functions(database.api_dsn, {"QUEUE_IN_FLIGHT_LIMIT": "1"}) as functions:
        response = invoke(functions, LONG_POLL, "gateway")
    assert (response.status, json.loads(response.body or b"{}").get("Messages")) == (200, None)
    assert sum(pauses) == pytest.approx(2)


@pytest.mark.parametrize("shares", [(8, 1, 4), (8, 2, 0), (3, 0, 0)])
@pytest.mark.parametrize(("function", "driver"), [("gateway", "psycopg"), ("gateway", "pg8000"), ("rest", "psycopg")])
def test_a_quarter_of_their_concurrency_waits(
    database: Database, direct: Functions, pauses: list[float], function: str, driver: str, shares: tuple[int, int, int]
) -> None:
    """Two of eight environments can wait at a time. The parameters are the number of environments, the number of other
    waiting requests, and how many seconds two requests wait. The slot is free after the wait."""
    concurrency, taken, waited = shares
    variables = {
        "QUEUE_LAMBDA_CONCURRENCY": str(concurrency),
        "AWS_LAMBDA_FUNCTION_NAME": f"penstock-{function}",
        "QUEUE_DATABASE_DRIVER": driver,
    }
    with psycopg.connect(database.api_dsn, autocommit=True) as db:
        for _ in range(taken):
            db.execute("select queue.take_poll_slot(%s, gen_random_uuid(), 2, 60)", [f"penstock-{function}"])
        with Functions(database.pooled_dsn, variables) as functions:
            for _ in range(2):
                assert invoke(functions, LONG_POLLS[function], function).status == 200
        free = db.execute("select count(*) from queue.poll_slot where ends_at < now()").fetchone()
    assert sum(pauses) == pytest.approx(waited)
    assert free == (int(waited > 0),)


# --- imports ---------------------------------------------------------------------------------------------------------
def test_only_functions_that_sign_import_cryptography(database: Database) -> None:
    """Actions that read a topic, send a message or serve a certificate do not import the module, but publishing
    does."""
    script = """
import json, sys
from tests.support.functions.invocations import invoke, json_request, query_request
from tests.support.functions.server import Functions
from tests.support.local_lambda.events import Request

def named():
    return "cryptography" in sys.modules

url = "http://sqs.internal/000000000000/q"
topic = "arn:aws:sns:us-east-1:000000000000:t"
version = {"Version": "2010-03-31"}
with Functions(sys.argv[1]) as functions:
    requests = [
        json_request("CreateQueue", QueueName="q"),
        json_request("SendMessage", QueueUrl=url, MessageBody="b"),
        json_request("ReceiveMessage", QueueUrl=url),
        query_request("CreateTopic", Name="t", **version),
        query_request("CreateTopic", **{"Name": "t.fifo", "Attributes.entry.1.key": "FifoTopic"},
                      **{"Attributes.entry.1.value": "true"}, **version),
        query_request("Publish", TopicArn=topic + ".fifo", Message="m", MessageGroupId="g",
                      MessageDeduplicationId="d", **version),
        query_request("ListTopics", **version),
        Request(method="GET", path="/SimpleNotificationService.pem"),
        query_request("Publish", TopicArn=topic, Message="m", **version),
        Request(method="GET", path="/SimpleNotificationService.pem"),
    ]
    print(json.dumps([(invoke(functions, request).status, named()) for request in requests]))
"""
    result = subprocess.run(
        [sys.executable, "-c", script, database.api_dsn],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    expected = [[200, False]] * 7 + [[404, False], [200, True], [200, True]]
    assert json.loads(result.stdout) == expected


# --- scheduled runs --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("driver", DRIVERS)
def test_maintain_answers_its_counts(direct: Functions, database: Database, driver: str) -> None:
    call(direct, "CreateQueue", QueueName="invoices.fifo", Attributes={"FifoQueue": "true"})
    with Functions(database.pooled_dsn, {"QUEUE_DATABASE_DRIVER": driver}) as functions:
        counts = functions.invoke("maintain", {"version": "0", "source": "aws.scheduler"})
    assert counts["queues"] == 2
    assert set(counts) == {"queues", "messages", "rows", "analyzed", "emptied"}


def test_move_answers_its_counts(direct: Functions) -> None:
    """Without a task, the worker checks once and the invocation ends."""
    assert direct.invoke("move", {"version": "0", "source": "aws.scheduler"}) == {"steps": 0, "messages": 0}


def test_maintain_fails_when_the_database_does(empty_database: Database) -> None:
    with Functions(empty_database.api_dsn) as functions, pytest.raises(InternalFailure):
        functions.invoke("maintain", {})


class Worker:
    """Imitates a worker with a fake clock, whose runs take the given times."""

    MAX_RUN_SECONDS = 1.5

    def __init__(self, *seconds: float) -> None:
        self.now = 0.0
        self._seconds = iter(seconds)

    def run_once(self, settings: Settings, connection: object) -> dict[str, int]:
        self.now += next(self._seconds)
        return {"done": 1}


@pytest.mark.parametrize(
    ("seconds", "runs"),
    [
        ([0.1], 1),
        ([1.5, 2.0, 1.4], 3),  # two runs end early
        ([10.0] * 9, 5),  # every run ends early, until 45 seconds are over
    ],
)
def test_runs_cut_short_go_on(
    database: Database, monkeypatch: pytest.MonkeyPatch, seconds: list[float], runs: int
) -> None:
    worker = Worker(*seconds)
    monkeypatch.setattr(scheduled, "monotonic", lambda: worker.now)
    with scheduled_environment(database, monkeypatch, {}):
        assert scheduled.build_statement_handler(worker)(None, None) == {"done": runs}


@contextmanager
def scheduled_environment(
    database: Database, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> Iterator[None]:
    """Yields the environment for the next handler of a scheduled function."""
    environment = ExecutionEnvironment({"DATABASE_URL": database.api_dsn, **variables})
    monkeypatch.setattr(ExecutionEnvironment, "start", lambda: environment)
    yield
    environment.close()


class Polling:
    """Imitates a worker whose runs take 0.5 seconds and always find work. `limits` records each run's time limit."""

    MAX_RUN_SECONDS = 20.0

    def __init__(self, pause: float | None) -> None:
        self.now = 0.0
        self.limits: list[float] = []
        self._pause = pause

    def run_once(
        self, settings: Settings, connection: object, longest_run_seconds: float = MAX_RUN_SECONDS
    ) -> dict[str, int]:
        self.limits.append(longest_run_seconds)
        self.now += 0.5
        return {"done": 1}

    def poll_seconds(self, settings: Settings) -> float | None:
        return self._pause

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(
    ("seconds", "pause", "limits", "end"),
    [
        ("5", 1.0, [5.0, 3.5, 2.0, 0.5], 5.0),  # one run each 1.5 seconds
        ("5", 2.0, [5.0, 2.5], 5.0),  # the last pause equals the remaining time
        ("0", 1.0, [20.0], 0.5),  # the invocation ends when no work is due
        ("5", None, [5.0], 0.5),  # the worker has no work until the next invocation
    ],
)
def test_a_function_polls_for_what_comes_meanwhile(
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    seconds: str,
    pause: float | None,
    limits: list[float],
    end: float,
) -> None:
    worker = Polling(pause)
    monkeypatch.setattr(scheduled, "monotonic", lambda: worker.now)
    monkeypatch.setattr(scheduled, "sleep", worker.sleep)
    with scheduled_environment(database, monkeypatch, {"QUEUE_LAMBDA_WORKER_SECONDS": seconds}):
        assert scheduled.build_polling_handler(worker)(None, None) == {"done": len(limits)}
    assert worker.limits == pytest.approx(limits)
    assert worker.now == pytest.approx(end)


# --- imports ---------------------------------------------------------------------------------------------------------
# Tests in new interpreters that each function imports only the modules that its action needs.

PACKAGES = {"fastapi", "starlette", "mangum", "pydantic", "uvloop", "penstock_web"}
LATER = {"croniter", "cron_descriptor", "cryptography", "aws_lambda_powertools", "aws_xray_sdk", "boto3", "botocore"}
# Maps each function to the modules that only this function may import at its start.
NEEDED = {name: {"httptools"} for name in ("deliver", "deliver_events", "poll_mappings")}
NAMES = sorted(
    ".".join(file.relative_to(FUNCTIONS).with_suffix("").parts)
    for file in FUNCTIONS.rglob("*.py")
    if file.stem != "rest"  # this function serves the REST API with FastAPI
)


def imported(names: list[str], driver: str = "") -> dict[str, set[str]]:
    """Imports functions without settings. Maps each function to the names of all imported modules. The import neither
    fails nor connects."""
    result = subprocess.run(
        [sys.executable, "-m", "tests.support.functions.imports", *names],
        cwd=ROOT,
        env={"PYTHONPATH": f"{FUNCTIONS}:{ROOT / 'layers/core'}", "QUEUE_DATABASE_DRIVER": driver},
        capture_output=True,
        text=True,
        check=True,
    )
    return {name: set(line.split()) for name, line in zip(names, result.stdout.splitlines(), strict=True)}


@pytest.fixture(scope="module")
def modules() -> dict[str, set[str]]:
    return imported(NAMES)


@pytest.mark.xdist_group("imports")
def test_nothing_heavy(modules: dict[str, set[str]]) -> None:
    for name, found in modules.items():
        top = {module.partition(".")[0] for module in found}
        unneeded = PACKAGES | LATER | {"httptools", "pg8000"}
        assert not top & (unneeded - NEEDED.get(name, set())), name
        assert {"penstock", "psycopg"} <= top
        assert "penstock.management" not in found, name


@pytest.mark.xdist_group("imports")
@pytest.mark.parametrize("service", ["sqs", "sns", "scheduler"])
def test_a_function_of_an_action_has_no_other_operations(modules: dict[str, set[str]], service: str) -> None:
    own = {name: found for name, found in modules.items() if name.startswith(f"{service}.")}
    assert own
    for name, found in own.items():
        rules = {"penstock.access.authentication", "penstock.access.resources", f"penstock.{service}.uses"}
        assert not {"xml.etree.ElementTree", *rules} & found, name
        if service == "sqs":
            others = ("penstock.sns.subscriptions", "penstock.sns.publishing.publish", "penstock.sns.topics")
            assert not [
                m
                for m in found
                if m.startswith(("penstock.scheduler.expressions", "penstock.sns.filter_policy", *others))
            ], name
        if service == "sns":
            assert not [m for m in found if m.startswith("penstock.scheduler.expressions")], name


@pytest.mark.xdist_group("imports")
def test_the_gateway_has_every_operation(modules: dict[str, set[str]]) -> None:
    services = ("sqs.", "sns.", "scheduler.")
    actions = [found for name, found in modules.items() if name.startswith(services)]
    own = {m for found in actions for m in found if m.startswith(tuple(f"penstock.{s}" for s in services))}
    assert own
    assert own <= modules["gateway"]


@pytest.mark.xdist_group("imports")
def test_a_function_with_pg8000_has_no_psycopg() -> None:
    names = ["measure", "maintain", "sqs.send_message", "sns.publish", "gateway"]
    for name, found in imported(names, "pg8000").items():
        top = {module.partition(".")[0] for module in found}
        assert "pg8000" in top, name
        assert not {"psycopg", "psycopg_binary"} & top, name


@pytest.mark.xdist_group("imports")
def test_publish_needs_no_platform_applications(modules: dict[str, set[str]]) -> None:
    for name in ("publish", "publish_batch"):
        (found,) = (of for function, of in modules.items() if function.rpartition(".")[2] == name)
        assert not any(module.startswith("penstock.sns.mobile") for module in found)
