"""Tests the table of `penstock top`: its order, keys, places and columns (docs/reference/command_line.md)."""

from multiprocessing.connection import wait

import pytest
from rich.console import Console

from penstock.management.metrics.types import Now
from penstock.management.metrics.views import show_verdict
from penstock.verdicts import Kind, Verdict
from penstock_web.cli.bus_lines import BusReading
from penstock_web.cli.client import Document
from penstock_web.cli.lag import ListedQueue, Reading
from penstock_web.cli.live_table import Reader
from penstock_web.cli.queue_table import HELP, KEYS, QueueTable, show_age
from penstock_web.local_error import LocalError

HEIGHT = 6  # four lines above two queues


def queue(name: str, visible: int = 0, kind: Kind = Kind.OK, arrivals: float = 0.0, age: int = 0) -> ListedQueue:
    verdict = Verdict(kind, backlog=visible, arrival_rate=arrivals, cause_text="No consumer.\x1b[2J")
    return ListedQueue(name, Now(visible, 0, 0, age * 1_000_000), show_verdict(verdict))


QUEUES = [
    queue("a", 3, arrivals=1.0),
    queue("b", 9, Kind.DEAD_LETTERS, age=90),
    queue("c", 9, Kind.STALLED, arrivals=2.0),
    ListedQueue("d", Now(1, 0, 0, 0), None),
]


@pytest.fixture
def table() -> QueueTable:
    made = QueueTable("http://127.0.0.1:9324")
    made.take(QUEUES)
    return made


def names(table: QueueTable) -> str:
    return "".join(row.queue.name for row in table.sort())


def shown(table: QueueTable, width: int = 200, height: int = 20) -> list[str]:
    console = Console(width=width, color_system=None, force_terminal=True)
    with console.capture() as captured:
        console.print(table.render(width, height))
    return captured.get().splitlines()


@pytest.mark.parametrize(
    ("keys", "order"),
    [("", "cbad"), ("r", "dabc"), ("n", "abcd"), ("nr", "dcba"), ("v", "bcad"), ("i", "cabd"), ("a", "bacd"),
     ("rv", "bcad"), ("nt", "cbad"), ("x?\x1b", "cbad")],
)  # fmt: skip
def test_keys_sort(table: QueueTable, keys: str, order: str) -> None:
    """Equal queues are in the order of their names, and a queue without a verdict is last."""
    assert all(table.press(key, HEIGHT) for key in keys)
    assert names(table) == order


def test_every_column_has_a_key_and_an_arrow(table: QueueTable) -> None:
    arrows = set()
    for key in KEYS:
        table.press(key, HEIGHT)
        (title,) = (word for word in shown(table)[3].replace("in flight", "in_flight").split() if word[-1] in "▲▼")
        arrows.add(title[:-1])
    assert len(arrows) == len(KEYS)


def test_q_ends(table: QueueTable) -> None:
    assert not table.press("q", HEIGHT)


@pytest.mark.parametrize(
    ("keys", "visible"),
    [([], "ab"), (["down"], "bc"), (["down", "up", "up"], "ab"), (["page down"], "cd"), (["end"], "cd"),
     (["page down", "page down"], "cd"), (["end", "home"], "ab"), (["end", "page up"], "ab"), (["end", "n"], "ab")],
)  # fmt: skip
def test_keys_scroll_within_the_queues(table: QueueTable, keys: list[str], visible: str) -> None:
    for key in ["n", *keys]:
        table.press(key, HEIGHT)
    assert "".join(line[0] for line in shown(table, height=HEIGHT)[4:]) == visible


def test_the_place_is_kept_until_the_queues_are_gone(table: QueueTable) -> None:
    for key in ("n", "end"):
        table.press(key, HEIGHT)
    table.take(QUEUES)
    assert [line[0] for line in shown(table, height=HEIGHT)[4:]] == ["c", "d"]
    table.take(QUEUES[:1])
    assert [line[0] for line in shown(table, height=HEIGHT)[4:]] == ["a"]


def test_the_summary_counts_what_needs_attention(table: QueueTable) -> None:
    """docs/reference/verdicts.md lists the verdicts that need attention."""
    assert shown(table)[0].startswith("http://127.0.0.1:9324   4 queues   2 queues need attention   in 3.0/s  out 0 ")
    table.take(QUEUES, 10)
    assert "4 queues   10 need attention   in" in shown(table)[0], "the overview also counts endpoints"


def test_an_error_stays_until_the_next_queues(table: QueueTable) -> None:
    table.error = "no service\x1b[2J responds"
    assert shown(table)[2].strip() == "no service\\x1b[2J responds"
    table.take(QUEUES)
    assert shown(table)[2].strip() == ""


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140, 200])
def test_a_line_is_at_most_as_wide_as_the_terminal(table: QueueTable, width: int) -> None:
    table.take([*QUEUES, queue("x" * 80, 1_234_567_890)])
    lines = shown(table, width)
    assert max(map(len, lines)) <= width
    assert len(lines) == 4 + 5
    assert "queue" in lines[3]


def test_a_narrow_terminal_shows_whole_columns(table: QueueTable) -> None:
    assert shown(table, 50)[3].split() == ["queue", "verdict▲", "visible", "oldest", "in", "out"]
    table.press("d", HEIGHT)
    assert "delayed▼" in shown(table, 50)[3]


def test_a_terminal_of_120_columns_shows_why(table: QueueTable) -> None:
    table.take([*QUEUES, queue("x" * 80, 1_234_567_890, Kind.FALLING_BEHIND, arrivals=0.00417)])
    lines = shown(table, 120)
    assert "why" in lines[3].split()
    assert all("No consumer." in line for line in lines[4:8])
    assert any("…" in line and "<0.1/s" in line for line in lines), "each rate of a column has one unit"


@pytest.mark.parametrize("width", [60, 80, 100])
def test_a_line_ends_with_a_whole_part(table: QueueTable, width: int) -> None:
    """A narrow terminal omits keys, parts of the summary and columns, and cuts none of them."""
    table.take([queue("orders-of-the-european-customers", 12, Kind.STALLED, arrivals=2.0, age=90)])
    lines = shown(table, width)
    assert "…" not in "".join(lines)
    assert lines[1].split("  ")[-1].strip() in HELP
    assert "orders-of-the-european-customers" in lines[4]


def test_a_file_gets_seconds_and_no_control_characters(table: QueueTable) -> None:
    row = table.describe_rows()[1]
    assert (row["queue"], row["verdict"], row["oldest_seconds"]) == ("b", "dead letters", 90)
    assert row["why"] == "No consumer.\\x1b[2J"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, ""), (59, "59 s"), (60, "1 min"), (7_199, "1 h"), (86_400, "1 d"), (345_600, "4 d")]
)
def test_an_age_has_its_largest_unit(seconds: int, text: str) -> None:
    assert show_age(seconds) == text


def test_an_unreachable_service_is_shown_above_the_last_queues(table: QueueTable) -> None:
    def read() -> Reading:
        raise LocalError("no service responds")

    with Reader(read, interval=3_600) as reader:
        reader.refresh()
        assert wait([reader.changed], 30)
        reader.store_in(table)
    assert table.error.endswith("UTC  no service responds")
    assert names(table) == "cbad"


# --- event buses -----------------------------------------------------------------------------------------------------
def bus(name: str, rate: float) -> Document:
    counts: Document = {"events": 1_200, "subscribers": 1}
    return {"name": name, "published_per_second": rate, "delivered_per_second": 2 * rate, **counts}


LAGS: Document = {
    "kind": "subscriber_lags",
    "name": "orders/billing",
    "state": "lags",
    "text": "9 events wait for the subscriber.\x1b[2J",
}
BUSES = BusReading([bus("idle", 0), bus("orders", 3.0)], [LAGS])


def problem(name: str, text: str, state: str = "late") -> Document:
    return {"kind": "x", "name": name, "state": state, "text": text}


PROBLEMS = [problem("nightly", "nightly is due and did not fire. " + "A process fires schedules. " * 3),
            problem("https://a.test", "A user paused the deliveries to this endpoint.", "paused")]  # fmt: skip


@pytest.mark.parametrize("width", [80, 120])
def test_every_problem_is_above_the_queues_with_its_whole_reason(table: QueueTable, width: int) -> None:
    table.take(QUEUES, 2, BusReading((), PROBLEMS))
    lines = [line.rstrip() for line in shown(table, width, 24)]
    places = [lines.index(line) for line in ("nightly  late", "https://a.test  paused")]
    assert places[0] == 2
    assert " ".join(" ".join(lines[3 : places[1]]).split()) == str(PROBLEMS[0]["text"]).rstrip()
    assert lines[places[1] + 1] == "  A user paused the deliveries to this endpoint."


def test_a_low_terminal_shows_all_problems_before_reasons(table: QueueTable) -> None:
    table.take(QUEUES, 2, BusReading((), PROBLEMS))
    table.width = 80
    assert [line.plain for line in table.list_lines(9)] == ["nightly  late", "https://a.test  paused"]
    (_, cut, _) = (line.plain for line in table.list_lines(10))
    assert cut.startswith("  nightly is due")
    assert cut.endswith("…")
    assert [line.plain for line in table.list_lines(8)] == ["and 2 more: penstock status"]
    assert table.list_lines(7) == []


def test_buses_are_above_the_queues_and_lagging_subscribers_before_them(table: QueueTable) -> None:
    table.take(QUEUES, 1, BUSES)
    lines = [line.rstrip() for line in shown(table)]
    assert lines[2] == "orders/billing  lags"
    assert lines[3].startswith("  9 events wait for the subscriber.")
    assert lines[4:6] == [
        "bus orders  in 3.0/s  out 6.0/s  1,200 events  1 subscriber",
        "bus idle  in 0  out 0  1,200 events  1 subscriber",
    ]
    assert not any("\x1b[2J" in line for line in lines)
    assert table.visible_rows(20) == 12


@pytest.mark.parametrize(("height", "number"), [(0, 0), (3, 0), (4, 1), (8, 2), (400, 2)])
def test_buses_leave_room_for_queues(table: QueueTable, height: int, number: int) -> None:
    table.take(QUEUES, 0, BusReading(BUSES.buses))
    lines = [line.plain for line in table.list_lines(height)]
    assert len(lines) == number
    assert number != 1 or lines == ["and 2 more event buses"]


def test_a_terminal_without_buses_has_no_line_for_them(table: QueueTable) -> None:
    assert table.list_lines(400) == []
