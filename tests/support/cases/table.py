"""Combines the cases of all services by action.

`python -m tests.support.cases.table` (`make cases`) writes the cases to build/compatibility_cases.md.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from tests.support.cases import policies
from tests.support.cases.case import OK, Case, Members, Response, Source
from tests.support.cases.scheduler import members as scheduler_members
from tests.support.cases.scheduler.rows import ROWS as SCHEDULER_ROWS
from tests.support.cases.sns import members as sns_members
from tests.support.cases.sns import messages as sns_messages
from tests.support.cases.sns import others, subscriptions, topics
from tests.support.cases.sqs import members as sqs_members
from tests.support.cases.sqs import messages as sqs_messages
from tests.support.cases.sqs import queues

USUAL: dict[str, dict[str, Members]] = {
    "sqs": sqs_members.USUAL,
    "sns": sns_members.USUAL,
    "scheduler": scheduler_members.USUAL,
}
"""The usual requests, which cases change."""

DIFFERING: dict[tuple[str, str, str], tuple[Response, str]] = {
    ("Unsubscribe", "SubscriptionArn", "of one that is pending"): (
        OK,
        "AWS deletes a pending subscription after two days. Penstock does not, so the request deletes the subscription",
    )
}
"""Penstock's responses that differ from AWS's responses, with the reasons, by action, parameter and case."""


def _all() -> Iterator[Case]:
    yield from sqs_members.cases()
    yield from (Case("sqs", *row) for table in (queues, sqs_messages) for row in table.rows())
    yield from (Case("sqs", *row) for row in policies.sqs_rows())
    yield from sns_members.cases()
    yield from (Case("sns", *row) for row in policies.sns_rows())
    yield from (Case("sns", *row) for table in (topics, subscriptions, sns_messages, others) for row in table.rows())
    yield from scheduler_members.cases()
    yield from (Case("scheduler", *row) for row in SCHEDULER_ROWS)


def _differing(case: Case) -> Case:
    ours, why = DIFFERING.get((case.action, case.parameter, case.case), (None, ""))
    return case._replace(ours=ours, why=why)


ALL: tuple[Case, ...] = tuple(map(_differing, _all()))


def _by_action() -> dict[tuple[str, str], list[Case]]:
    found: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for case in ALL:
        found[case.service, case.action].append(case)
    return dict(found)


BY_ACTION = _by_action()


class _EveryTwentieth:
    """Selects the cases that run at all endpoints."""

    def __init__(self) -> None:
        self._ids = {id(case) for case in ALL[::20]}

    def __contains__(self, case: Case) -> bool:
        return id(case) in self._ids


EVERYWHERE = _EveryTwentieth()
FORBIDDEN = (
    "AuthorizationError",
    "AccessDenied",
    "OverLimit",
    "FilterPolicyLimitExceeded",
    "SubscriptionLimitExceeded",
    "TopicLimitExceeded",
    "MissingAuthenticationToken",
    "MissingAuthenticationTokenException",
    "AWS.SimpleQueueService.PurgeQueueInProgress",
)
STATUSES = {
    "": 200,
    **dict.fromkeys(FORBIDDEN, 403),
    **dict.fromkeys(("NotFound", "ResourceNotFound", "ResourceNotFoundException"), 404),
    "ConflictException": 409,
}
"""The HTTP statuses in botocore's models and "Common Errors". All other errors have status 400."""


@cache
def _status(code: str) -> int:
    return STATUSES.get(code, 400)


def status_of(case: Case) -> int:
    return _status(case.expected.code)


PAGE: Final = Path(__file__).parents[3] / "build/compatibility_cases.md"
TITLES: Final = {"sqs": "Amazon SQS", "sns": "Amazon SNS", "scheduler": "EventBridge Scheduler"}
LONGEST: Final = 110

HEAD = """# Unusual requests

For developers: look up the response to a request with one unusual parameter.

Each action has its cases: a parameter that is absent, null, empty, too long, of a wrong type or in another letter case,
a value that is out of range, or two parameters that exclude each other. Tests send each request, and compare the code,
the status, and the text if AWS's text is known. The source says where code and status are from. "Our choice" means that
no page of AWS and no report of a user says it. Texts are as users of AWS quote them.

A response of 200 is a success.
"""


def page(cases: Iterable[Case] = ALL) -> str:
    every = list(cases)
    return "\n".join((HEAD, *_totals(every), *_sources(every), *_services(every)))


def _totals(cases: list[Case]) -> Iterator[str]:
    yield "| service | actions | cases | with a source | our choice | where Penstock differs |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for service, title in TITLES.items():
        own = [case for case in cases if case.service == service]
        ours = sum(case.source.is_ours for case in own)
        numbers = (
            len({case.action for case in own}),
            len(own),
            len(own) - ours,
            ours,
            sum(case.ours is not None for case in own),
        )
        yield f"| {title} | {' | '.join(map(str, numbers))} |"
    yield ""


def _sources(cases: list[Case]) -> Iterator[str]:
    """Yields the numbered list of sources. The tables refer to the numbers."""
    yield "## Sources"
    yield ""
    for number, source in enumerate(_numbered(cases), 1):
        yield (f"{number}. [{source.title}]({source.address})" if source.address else f"{number}. {source.title}")
    yield ""


def _numbered(cases: list[Case]) -> list[Source]:
    return list(dict.fromkeys(case.source for case in cases))


def _services(cases: list[Case]) -> Iterator[str]:
    numbers = {source: number for number, source in enumerate(_numbered(cases), 1)}
    for service, title in TITLES.items():
        yield f"## {title}"
        yield ""
        actions: dict[str, list[Case]] = defaultdict(list)
        for case in cases:
            if case.service == service:
                actions[case.action].append(case)
        for action in sorted(actions):
            yield f"### {action}"
            yield ""
            yield "| parameter | case | answer | source |"
            yield "| --- | --- | --- | --- |"
            yield from _rows(actions[action], numbers)
            yield ""


def _rows(cases: list[Case], numbers: dict[Source, int]) -> Iterator[str]:
    """Yields a row for each combination of parameter, response and source."""
    grouped: dict[tuple[str, str, int], list[str]] = defaultdict(list)
    for case in cases:
        grouped[_text(case.parameter), _response(case), numbers[case.source]].append(_case(case))
    for (parameter, response, number), names in grouped.items():
        yield f"| {parameter} | {'; '.join(dict.fromkeys(names))} | {response} | {number} |"


def _case(case: Case) -> str:
    protocol = {"json": " (JSON)", "query": " (Query)"}.get(case.only, "")
    return _text(case.case) + protocol


def _response(case: Case) -> str:
    response = case.expected
    told = f"{status_of(case)} {response.code}".strip()
    if response.text is not None and len(response.text) < LONGEST * 3:
        told += f": {_text(response.text)}"
    return told if case.ours is None else f"{told} (AWS: {case.response}; {case.why})"


def _text(text: str) -> str:
    """Returns the text of a table cell, with control characters and Markdown's special characters escaped."""
    shown = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )
    shown = shown if len(shown) <= LONGEST * 3 else f"{shown[:LONGEST]}…"
    for sign in "\\`*_|<>[]":
        shown = shown.replace(sign, f"\\{sign}")
    return shown


def main() -> None:
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
