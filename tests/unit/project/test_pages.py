"""Checks that lists in docs/ match the code."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import botocore.session
import pytest
from msgspec.structs import fields

from penstock import errors
from penstock.actions import ACTIONS
from penstock.aws.codec.errors import COMMON_NAMES, UnknownOperationException
from penstock.errors import AwsError
from penstock.events.errors import EventsError
from penstock.management.schedules.types import NewSchedule, ShownSchedule
from penstock.scheduler import errors as errors_scheduler
from penstock.scheduler.errors import SchedulerError
from penstock.settings import SETTINGS, Settings
from penstock.sns import errors as errors_sns
from penstock_web.console.responses import TABS
from penstock_web.rest.schedules import routes
from tests.support.hostile.counts import counts
from tests.support.metrics_page import families, table

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"


# --- docs/reference/errors.md -----------------------------------------------------------------------------------------
def rows(page: str, section: str) -> list[list[str]]:
    """Returns the cells of the table in a section, without the header row."""
    text = (ROOT / page).read_text().partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize(
    ("section", "table"), [("SQS, and requests as such", errors.ERRORS), ("SNS", errors_sns.SNS_ERRORS)]
)
def test_the_page_of_errors_lists_every_error(section: str, table: dict[str, type[errors.AwsError]]) -> None:
    expected = [
        [kind.json_type, kind.query_code, str(kind.status), "sender" if kind.sender_fault else "service"]
        for kind in table.values()
    ]
    assert rows("docs/reference/errors.md", section) == sorted(expected)


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yields the texts of a module with their lines, without docstrings."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value


def test_no_message_sends_to_a_page_of_the_checkout() -> None:
    """`pip install` does not install docs/. A message can contain an address of the service, /docs/…."""
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / "layers").rglob("*.py"))
        if "docs/" in (source := path.read_text())
        for line, text in texts(ast.parse(source))
        if re.search(r"(?<!/)docs/", text)
    ]
    assert found == []


def test_no_printed_file_sends_to_a_page_of_the_checkout() -> None:
    """Commands such as `penstock systemd` print these files on a machine that has only the wheel."""
    printed = [*(ROOT / "infra/systemd").iterdir(), *(ROOT / "infra/container/grafana/dashboards").iterdir()]
    printed += [ROOT / "infra/container/prometheus/alerts.yaml", ROOT / "examples/penstock.yaml"]
    assert [path.name for path in printed if re.search(r"(?<!/)docs/|infra/", path.read_text())] == []


# --- docs/reference/prometheus.md -------------------------------------------------------------------------------------
# Checks that the page and the code describe the same metrics.
PROMETHEUS_PAGE = (DOCS / "reference" / "prometheus.md").read_text()

# Dashboards and alerts rely on the name, the type and the labels of these metrics, and on the smallest and the largest
# bucket of histograms.
PROMISED = [
    ("penstock_http_requests_total", "counter", ("method", "path", "status"), ()),
    ("penstock_http_request_duration_seconds", "histogram", ("method", "path"), (0.005, 2.5)),
    ("penstock_http_requests_active", "gauge", (), ()),
    ("penstock_queue_messages_sent_total", "counter", ("queue",), ()),
    ("penstock_queue_messages_received_total", "counter", ("queue",), ()),
    ("penstock_queue_messages_deleted_total", "counter", ("queue",), ()),
    ("penstock_queue_messages_redelivered_total", "counter", ("queue",), ()),
    ("penstock_queue_message_send_duration_seconds", "histogram", ("queue",), (0.001, 1)),
    ("penstock_queue_message_receive_duration_seconds", "histogram", ("queue",), (0.001, 1)),
    ("penstock_queue_message_delete_duration_seconds", "histogram", ("queue",), (0.001, 1)),
    ("penstock_queue_message_age_at_receive_seconds", "histogram", ("queue",), (0.1, 3600)),
    ("penstock_queue_delivery_attempts_total", "counter", ("outcome",), ()),
    ("penstock_queue_delivery_attempt_duration_seconds", "histogram", ("outcome",), (0.05, 10)),
    ("penstock_queue_delivery_exhausted_total", "counter", (), ()),
    ("penstock_flush_messages", "histogram", (), (1, 1000)),
    ("penstock_queue_depth", "gauge", ("queue",), ()),
    ("penstock_queue_in_flight", "gauge", ("queue",), ()),
    ("penstock_db_pool_size", "gauge", (), ()),
    ("penstock_db_pool_idle", "gauge", (), ()),
    ("penstock_db_pool_active", "gauge", (), ()),
    ("penstock_db_pool_acquire_timeouts_total", "counter", (), ()),
]


def test_the_page_has_the_table_of_the_code() -> None:
    rows = re.findall(r"^\| `\w+` \| (?:counter|gauge|histogram) \|.*$", PROMETHEUS_PAGE, re.MULTILINE)
    assert rows == table()


@pytest.mark.parametrize(("name", "kind", "labels", "ends"), PROMISED)
def test_a_specified_metric(name: str, kind: str, labels: tuple[str, ...], ends: tuple[float, ...]) -> None:
    ((family, own),) = [(family, own) for family, own in families() if family.name == name]
    assert (family.kind, own) == (kind, labels)
    assert (family.buckets[0], family.buckets[-1]) == ends if ends else not family.buckets


def test_names_of_metrics_are_unique() -> None:
    names = [family.name for family, _ in families()]
    assert len(names) == len(set(names))


# --- docs/reference/schedules.md --------------------------------------------------------------------------------------
# Checks that the pages list the actions and errors of EventBridge Scheduler, and the routes and members of the REST
# API.
REST = (DOCS / "reference" / "schedules.md").read_text()
AWS = (DOCS / "reference" / "eventbridge_scheduler.md").read_text()


def test_the_actions_of_schedules() -> None:
    listed = re.findall(r"\| `([A-Z]\w+)` (?=\|)", AWS)
    actions = {action.name for action in ACTIONS if action.service == "scheduler"}
    assert {name for name in listed if not name.endswith(("Arn", "Token"))} == actions


def test_the_errors_of_schedules() -> None:
    kinds: tuple[type[AwsError], ...] = (*SchedulerError.__subclasses__(), UnknownOperationException)
    ours = {kind.json_type: kind.status for kind in kinds}
    rows = re.findall(r"^\| (\w+) \| (\d+) \|", AWS, re.MULTILINE)
    assert {name: int(status) for name, status in rows}.items() >= (ours.items() - {("InternalServerException", 500)})
    assert "InternalServerException" in vars(errors_scheduler)
    named = set(re.findall(r"\b\w+Exception\b", AWS))
    assert named <= {*ours, *COMMON_NAMES.values(), "SerializationException"}


def test_the_routes_of_schedules() -> None:
    declared = {(route.method, f"/v1{route.path}") for route in routes}
    listed = re.findall(r"^\| `([A-Z]+) (/v1/[^`?]+)", REST, re.MULTILINE)
    assert set(listed) == declared


def test_the_members_of_schedules() -> None:
    named = set(re.findall(r"`([a-z_]+)`", REST))
    assert {field.name for field in fields(NewSchedule)} <= named
    assert {field.name for field in fields(ShownSchedule)} - {"rate"} <= named


# --- docs/reference/event_bus.md --------------------------------------------------------------------------------------
BUSES = (DOCS / "reference" / "event_bus.md").read_text()


def test_the_actions_of_event_buses() -> None:
    table = BUSES.partition("| actions | |")[2].partition("\n\n")[0]
    listed = {name for row in table.splitlines() for name in re.findall(r"`([A-Z]\w+)`", row.partition(" | ")[0])}
    assert listed == {action.name for action in ACTIONS if action.service == "events"}


def test_the_errors_of_event_buses() -> None:
    kinds: tuple[type[AwsError], ...] = (*EventsError.__subclasses__(), UnknownOperationException)
    ours = {kind.json_type: kind.status for kind in kinds}
    rows = re.findall(r"^\| ([\w, ]+) \| (\d+)(?:, \d+)? \|", BUSES, re.MULTILINE)
    listed = {name: int(status) for names, status in rows for name in names.split(", ")}
    assert listed.items() >= ours.items()
    assert listed.keys() - ours.keys() <= {*COMMON_NAMES.values(), "SerializationException"}


# --- docs/operate/sizing.md -------------------------------------------------------------------------------------------
def test_the_connections_of_a_process() -> None:
    """A process has connections for requests, one for LISTEN, and one for each worker but `poll`."""
    workers = re.findall(r"^\| `(?!poll`)\w+` \|", (DOCS / "operate/workers.md").read_text(), re.MULTILINE)
    most = Settings.read({}).queue_max_connections + 1 + len(workers)
    assert f"\n{most} x processes + 1 " in (DOCS / "operate/sizing.md").read_text()
    assert f"A process has at most {most} connections" in (DOCS / "explain/postgres.md").read_text()


# --- docs/operate/security.md -----------------------------------------------------------------------------------------
SECURITY_PAGE = (DOCS / "operate" / "security.md").read_text()
PREFIXES = ("QUEUE_", "WEBHOOK_", "DATABASE_")


def test_settings_that_security_names_exist() -> None:
    named = {word for word in re.findall(r"[A-Z]+(?:_[A-Z]+)+", SECURITY_PAGE) if word.startswith(PREFIXES)}
    assert named
    assert named <= {setting.name for setting in SETTINGS}


def test_targets_of_make_that_are_named_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)", SECURITY_PAGE)) <= targets


def test_encryption_comes_first() -> None:
    first = SECURITY_PAGE.split("\n## ")[1]
    assert first.startswith("Encryption\n\n**`SqsManagedSseEnabled` and the KMS attributes encrypt nothing here.**")


# --- docs/operate/security_tests.md -----------------------------------------------------------------------------------
SECURITY_TESTS_PAGE = (DOCS / "operate" / "security_tests.md").read_text()
NAMED = sorted(set(re.findall(r"`([\w./]+\.(?:py|hcl)(?:::\w+)?)`", SECURITY_TESTS_PAGE)))
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in SECURITY_TESTS_PAGE.splitlines()
    if line.startswith("| ")
]


@pytest.mark.parametrize("named", NAMED)
def test_a_test_of_security_is_there(named: str) -> None:
    path, _, test = named.partition("::")
    places = [ROOT / path, ROOT / "tests" / path]
    (file,) = [place for place in places if place.is_file()]
    assert not test or re.search(rf"^(async )?def {test}\(", file.read_text(), re.MULTILINE)


def test_every_attack_has_a_test() -> None:
    heads = {"attack", "kind", "---"}
    attacks = [row for row in ROWS if len(row) == 3 and row[0] not in heads and not row[1][:1].isdigit()]
    assert len(attacks) >= 50
    assert [row[0] for row in attacks if "`" not in row[2]] == []


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("signatures", "invalid signatures"), ("bearer keys", "invalid bearer keys"),
        ("receipt handles", "receipt handles: each bit"), ("addresses of webhooks", "addresses of webhooks"),
        ("smuggled requests", "requests that hide another"), ("hostile requests", "malformed requests"),
    ],
)  # fmt: skip
def test_there_are_as_many_cases_as_it_says(kind: str, said: str) -> None:
    (row,) = [row for row in ROWS if row[0].startswith(said)]
    assert 0 < int(row[1].replace(",", "")) <= counts()[kind]


# --- docs/reference/topics.md -----------------------------------------------------------------------------------------
TOPICS_PAGE = DOCS / "reference" / "topics.md"


def test_the_actions_of_topics_are_those_of_the_table() -> None:
    table = TOPICS_PAGE.read_text().partition("| action |")[2].partition("\n\n")[0]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    listed = {name for row in rows for name in re.findall(r"`([A-Z]\w+)` \|", row)}
    assert listed == {action.name for action in ACTIONS if action.service == "sns"}


# --- docs/reference/compatibility.md ----------------------------------------------------------------------------------
COMPATIBILITY_PAGE = DOCS / "reference" / "compatibility.md"

# docs/reference/clients.md names the same client versions as the files of `make clients`.
CLIENTS_PAGE = DOCS / "reference" / "clients.md"
CLIENTS = ROOT / "tests/support/clients"
CLIENT_ROWS = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \| [^|]* \| [^|]+ \|$", CLIENTS_PAGE.read_text(), re.MULTILINE))


def list_actions(response: str) -> list[str]:
    return re.findall(rf"^\| `(\w+)` \| {response} \| {response} \|$", COMPATIBILITY_PAGE.read_text(), re.MULTILINE)


def test_the_actions_in_the_order_of_the_table() -> None:
    assert list_actions("yes") == [action.name for action in ACTIONS if action.service == "sqs"]


def test_the_actions_that_are_missing() -> None:
    model = botocore.session.get_session().get_service_model("sqs")
    there = {action.name for action in ACTIONS if action.service == "sqs"}
    assert list_actions("no") == sorted(set(model.operation_names) - there)


def test_settings_of_compatibility_exist() -> None:
    names = set(re.findall(r"`(QUEUE_[A-Z_]+)`", COMPATIBILITY_PAGE.read_text()))
    assert names
    assert names <= {setting.name for setting in SETTINGS}


def python(lock: str, name: str) -> str:
    found = re.findall(rf"^{name}==(\S+)", (ROOT / f"requirements/{lock}.lock").read_text(), re.MULTILINE)
    return str(found[0])


def node(name: str) -> str:
    packages = json.loads((CLIENTS / "node/package-lock.json").read_text())["packages"]
    return str(packages[f"node_modules/{name}"]["version"])


def jar(program: str, name: str) -> str:
    text = (CLIENTS / "java" / program / "jars.sha256").read_text()
    return str(re.findall(rf" {name}-([\d.]+)\.jar$", text, re.MULTILINE)[0])


def crate(name: str) -> str:
    text = (CLIENTS / "rust/crates.lock").read_text()
    return str(re.findall(rf'name = "{name}", version = "(.+?)"', text)[0])


def module(name: str) -> str:
    return str(re.findall(rf"{name} v(\S+)$", (CLIENTS / "keda/scaler.mod").read_text(), re.MULTILINE)[0])


INSTALLED = {
    "nestjs-sqs (`@ssut/nestjs-sqs`)": [node("@ssut/nestjs-sqs")],
    "squiss-ts": [node("squiss-ts")],
    "SDK for Java 2, `SqsClient`, `SqsAsyncClient`": [jar("sdk", "sqs")],
    "SDK for Java 2, `SqsAsyncBatchManager`": [jar("sdk", "sqs")],
    "amazon-sqs-java-messaging-lib (JMS)": [jar("jms", "amazon-sqs-java-messaging-lib")],
    "Spring Cloud AWS": [jar("spring", "spring-cloud-aws-sqs"), jar("spring", "spring-boot")],
    "Camel `aws2-sqs`, `aws2-sns`": [jar("camel", "camel-aws2-sqs")],
    "Java's `aws-lambda-java-events`": [jar("events", "aws-lambda-java-events")],
    "SDK for Rust, `aws-sdk-sqs`, `aws-sdk-sns`": [crate("aws-sdk-sqs"), crate("aws-sdk-sns")],
    "KEDA, the SQS scaler": [module("github.com/kedacore/keda/v2")],
    "kombu (`sqs://`)": [python("dev", "kombu")],
    "loafer-ng": [python("clients-frameworks", "loafer-ng")],
    "taskiq-aio-sqs": [python("clients-frameworks", "taskiq-aio-sqs")],
    "django-eb-sqs": [python("clients-frameworks", "django-eb-sqs")],
    "sqs-extended-client (Python)": [python("clients-frameworks", "sqs-extended-client")],
}


@pytest.mark.parametrize("client", INSTALLED)
def test_the_version_of_a_row(client: str) -> None:
    shown = re.findall(r"[\d.]+", CLIENT_ROWS[client])
    assert [f"{version}.".startswith(f"{short}.") for short, version in zip(shown, INSTALLED[client], strict=True)] == [
        True for _ in shown
    ]


# --- pages for users of other programs --------------------------------------------------------------------------------
SURPRISES = [
    ("guides/endpoints.md", "**The AWS CLI needs `--endpoint-url`**"),
    ("guides/endpoints.md", "A program that forks, such as django-q2, must create its client after the fork."),
    ("guides/sns_signatures.md", "django-ses accepts only names below `amazonaws.com`, also in SubscribeURL"),
    ("guides/testing.md", "An application with a hard-coded ARN or queue URL of another account"),
    ("operate/clocks.md", "FIFO groups with a message in flight | they wait until the clock reaches their time"),
    ("operate/lambda_local.md", "Each action of Scheduler has its function. `Gateway` serves all other requests."),
    ("operate/policies.md", "**Subscribe** requires only `sns:Subscribe` on the topic"),
    ("operate/policies.md", "A move back to the source queues needs no right on these queues"),
    ("reference/compatibility.md", "Parallel sends and receives may swap neighbours."),
    ("reference/topics.md", "`PutDataProtectionPolicy` | refused: AWS has closed it to new customers"),
]


@pytest.mark.parametrize(("page", "statement"), SURPRISES)
def test_a_page_names_what_a_user_would_not_expect(page: str, statement: str) -> None:
    assert statement in " ".join((DOCS / page).read_text().split())


# --- docs/decisions/ -------------------------------------------------------------------------------------------------
# A decision has at most 290 words outside its table. docs/performance/log.md contains the measurements.
DECISIONS = sorted((DOCS / "decisions").glob("0*.md"))
LOG = (DOCS / "performance" / "log.md").read_text()
MEASURED = {
    int(number)
    for title in re.findall(r"^## Decisions? (.+):", LOG, re.MULTILINE)
    for number in re.findall(r"\d+", title)
}
MOST_WORDS, LONGEST_LINE = 290, 120


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_is_at_most_a_page(path: Path) -> None:
    text = path.read_text()
    prose = [line for line in text.splitlines() if not line.startswith("|")]
    assert len(re.findall(r"\S*\w\S*", "\n".join(prose))) <= MOST_WORDS
    assert [line for line in text.splitlines() if len(line) > LONGEST_LINE] == []


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_has_a_number_and_says_what_was_decided(path: Path) -> None:
    text = path.read_text()
    assert text.startswith(f"# {int(path.stem[:4])}. ")
    sections = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert re.fullmatch("Context Decision Why( Rejected)? Price( Figures)?", " ".join(sections))


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_has_a_status_and_a_date(path: Path) -> None:
    status, day = re.findall(r"\A# .+\n\nFor .+\n\n- Status: (.+)\n- Date: (.+)\n\n", path.read_text())[0]
    assert re.fullmatch(r"accepted( \(.+\))?|superseded by \d+", status)
    unlinked = re.sub(r"\[decision \d+\]\(\d{4}-[\w-]+\.md\)", "", status)
    assert "decision" not in unlinked, "a decision that changed this one has a link"
    assert date.fromisoformat(day) >= date(2026, 11, 21)
    numbers = {path.stem[:4] for path in DECISIONS}
    assert {f"{int(number):04}" for number in re.findall(r"by (\d+)", status)} <= numbers


def test_decisions_are_numbered_without_a_gap() -> None:
    assert [int(path.stem[:4]) for path in DECISIONS] == list(range(1, len(DECISIONS) + 1))


def test_the_index_lists_each_decision() -> None:
    index = (DOCS / "decisions" / "index.md").read_text()
    titles = [f"- [{path.read_text().partition(chr(10))[0][2:]}]({path.name})" for path in DECISIONS]
    assert re.findall(r"^- .+$", index, re.MULTILINE) == titles


def test_measurements_and_their_decision_name_each_other() -> None:
    linked = {int(number) for number in re.findall(r"\(\.\./decisions/(\d+)-", LOG)}
    naming = {int(path.stem[:4]) for path in DECISIONS if "../performance/log.md#decision" in path.read_text()}
    assert naming == MEASURED
    assert linked >= MEASURED


# --- names of the console ---------------------------------------------------------------------------------------------
CONSOLE = ROOT / "layers/web/penstock_web/console"
TEMPLATE_TEXT = re.compile(r"<[^>]*>|\{[{%#].*?[}%#]\}|[\"']", re.DOTALL)
CONSOLE_NAME = re.compile(r'\b(?:tab|button|press|view|field|click)s?\s+"([^"]+)"', re.IGNORECASE)
TAB = re.compile(r'\btabs?\s+"([^"]+)"', re.IGNORECASE)
# Pages write names of the console in quotes, and not as emphasis.
EMPHASIZED = re.compile(r"\b(?:open|then|press|choose|tab|button) \*([A-Z][\w ]+)\*")
QUOTED = re.compile(r'"([A-Z][^"]+)"')


def console_names() -> set[str]:
    """Returns every text of the console's templates, scripts and Python modules that can be the name of an element."""
    found: set[str] = set()
    for file in CONSOLE.rglob("*"):
        if file.suffix == ".html":
            found.update(" ".join(text.split()) for text in TEMPLATE_TEXT.split(file.read_text()))
            found.update(re.findall(r"'([A-Z][^'\n]+)'", file.read_text()))  # the labels that macros take
        elif file.suffix == ".py":
            found.update(text for _, text in texts(ast.parse(file.read_text())))
        elif file.suffix == ".js":
            found.update(re.findall(r"[\"'`]([^\"'`\n]+)[\"'`]", file.read_text()))
    return found


def unknown_names(page: str, text: str, known: set[str]) -> set[str]:
    """Returns the names of tabs, buttons and fields on a page that the console does not have."""
    prose = " ".join(re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL).split())
    named = set(CONSOLE_NAME.findall(prose))
    if page == "guides/console.md":
        named.update(QUOTED.findall(prose))
    tabs = set(TAB.findall(prose)) - set(TABS.values())
    starts = tuple(f"{text} " for text in known if " " in text)  # "Test the {{ what }}" is "Test the filter", too
    return (
        {name for name in named if name not in known and not name.startswith(starts)}
        | tabs
        | set(EMPHASIZED.findall(prose))
    )


def test_tabs_and_buttons_that_pages_name_are_in_the_console() -> None:
    known = console_names()
    pages = {path.relative_to(DOCS).as_posix(): path.read_text() for path in DOCS.rglob("*.md")}
    assert {name: unknown for name, text in pages.items() if (unknown := unknown_names(name, text, known))} == {}


@pytest.mark.parametrize(
    "text", ['open the tab "Failures"', "open it, then *Failures*", 'press "Redrive them"', 'the\nbutton "Go on"']
)
def test_a_name_that_the_console_lacks_is_found(text: str) -> None:
    assert len(unknown_names("start/tutorial.md", text, console_names())) == 1


def test_the_pages_list_the_workers_of_the_code() -> None:
    """The worker `measure` also evaluates alerts."""
    folder = ROOT / "layers/core/penstock/workers"
    workers = {path.stem for path in folder.iterdir() if not path.name.startswith("__")} - {"alert"}
    page = (ROOT / "docs/operate/workers.md").read_text()
    assert set(re.findall(r"^\| `(\w+)` \|", page.partition("## Maintenance")[0], re.MULTILINE)) == workers
    glossary = (ROOT / "docs/reference/glossary.md").read_text()
    (listed,) = re.findall(r"^\| worker \| background work of a process: ([\w, ]+) \(", glossary, re.MULTILINE)
    assert set(listed.split(", ")) == workers


def test_each_kind_of_lock_is_explained() -> None:
    files = [path for path in (ROOT / "sql").rglob("*.sql") if path.name != "keys.sql"]
    used = {int(kind) for path in files for kind in re.findall(r"queue\.lock_key\((\d+),", path.read_text())}
    keys = (ROOT / "sql/functions/messages/keys.sql").read_text()
    assert {int(kind) for kind in re.findall(r"^--   Kind (\d+) locks ", keys, re.MULTILINE)} == used
