"""Reads which messages of a queue a user has selected, and builds the address of the page after an act.

Checkboxes, hidden fields and addresses name messages by `id`. The field `all` selects every message that matches the
filter. Without `all`, an act never takes all messages because none is selected.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from fastapi import Response

from penstock.context import Context
from penstock.effects import Operation
from penstock.errors import InvalidParameterValue
from penstock.management.errors import MessageNotFound
from penstock.management.messages import reading
from penstock.management.messages.reading import MAX_IDS
from penstock.management.rights import show
from penstock.search.filters import MessageFilter
from penstock.search.titles import mask_numbers

from .filters import NAMES, parse_filter
from .forms import Form, Query
from .messages import STATES, Seen
from .page import Page
from .rendering import plural, query, segment
from .responses import redirect

SAMPLES: Final = 3
"""The number of messages that a page shows before an act."""
LAST_ID: Final = 2**63 - 1
MAX_HERE_LENGTH: Final = 160
GROUPS: Final = "groups"
GROUP: Final = "group"
NAMES_IN_WORDS: Final = {
    "text": "text", "path": "JSON path", "value": "value", "attr": "attribute", "attr_value": "its value",
    "group": "message group", "min_receives": "receives at least", "max_receives": "receives at most",
    "older": "in the queue for longer than", "newer": "in the queue for less than", "source": "from", "cause": "cause",
}  # fmt: skip


class Selection(NamedTuple):
    """The selected messages: `ids`, or the messages that match `filter`, or every message if only `is_all` is set.

    `given` contains the fields of the filter, with the state. `here` is the place at which the user's page begins, or
    `groups` for the page of the groups.
    """

    ids: list[int]
    filter: MessageFilter | None
    given: dict[str, str]
    is_all: bool
    here: str = ""

    @property
    def is_empty(self) -> bool:
        return not self.ids and self.filter is None and not self.is_all

    @property
    def wanted(self) -> MessageFilter:
        """Returns the filter. If the filter has no condition, returns the messages in the page's state."""
        return self.filter or MessageFilter(states=list_states(self.given) or None)

    @property
    def facts(self) -> dict[str, str]:
        """Returns the filter's values, by names that the page shows. `describe` adds the name of a shape."""
        if self.ids:
            return {}
        state = {"state": self.given["state"].replace("_", " ")} if self.is_all and list_states(self.given) else {}
        facts = {words: self.given[name] for name, words in NAMES_IN_WORDS.items() if self.given.get(name)}
        return {**state, **facts, **({"cause": "none"} if self.given.get("no_cause") and "cause" not in facts else {})}

    @property
    def fields(self) -> list[tuple[str, str]]:
        """Returns the hidden fields of a form that acts on these messages."""
        if self.ids:
            return [("id", str(number)) for number in self.ids]
        return [*((name, value) for name, value in self.given.items() if value), *[("all", "yes")] * self.is_all]

    @property
    def carried(self) -> dict[str, str]:
        """Returns the parameters that lead back to the page on which the user selected the messages."""
        return {**self.given, "here": self.here}

    def build_path(self, name: str, **more: object) -> str:
        """Returns the address of the page of a queue on which the user selected the messages."""
        own = f"/console/queues/{segment(name)}"
        if self.here == GROUPS:
            return f"{own}/failures{query({}, **more)}"
        place = "place" if any(self.given[field] for field in NAMES) else "after"
        return f"{own}/messages{query({**self.given, place: self.here}, **more)}"


def read_selection(given: Query | Form, *, by_filter: bool = False) -> Selection:
    """Reads a selection. Raises InvalidParameterValue for an id that is not a number, and for an invalid filter.

    With `by_filter`, a filter selects its matches even without `all`, unless the field `selected` says that the user
    has chosen messages by their checkboxes.
    """
    texts = given.getlist("id") if isinstance(given, Query) else given.get_all("id")
    values = {name: given.get(name) or "" for name in ("state", *NAMES)}
    is_all = given.get("all") == "yes"
    ids = [] if is_all else parse_ids(texts)
    takes_filter = is_all or (by_filter and not ids and given.get("selected") != "yes")
    wanted = parse_filter(values, list_states(values)) if takes_filter else None
    return Selection(ids, wanted, values, is_all, (given.get("here") or "")[:MAX_HERE_LENGTH])


def list_states(values: Mapping[str, str]) -> list[str]:
    """Returns the state of the page on which the user selected messages, or no state if the page shows all states."""
    state = values.get("state", "")
    return [state] if state in STATES else []


def parse_ids(texts: Sequence[str]) -> list[int]:
    """Returns up to 1,000 different ids. Raises InvalidParameterValue for a text that is not an id."""
    if not all(map(is_id, texts)):
        raise InvalidParameterValue("The id of a message must be a number.")
    return list(dict.fromkeys(map(int, texts)))[:MAX_IDS]


class Count(NamedTuple):
    """The number of messages that match. If `is_exact` is not set, the queue has more messages than the count
    examined."""

    number: int
    is_exact: bool = True

    def __str__(self) -> str:
        return f"{self.number:,}{'' if self.is_exact else ' or more'}"


def count_matches(name: str, wanted: MessageFilter, context: Context) -> Operation[Count]:
    return Count(*(yield from reading.count_matches(name, wanted, context)))


def is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 19 and int(text) <= LAST_ID


def parse_id(text: str) -> int:
    """Parses a message's id. Raises MessageNotFound for any other text."""
    if not is_id(text):
        raise MessageNotFound
    return int(text)


def nothing_selected(name: str, selection: Selection) -> Response:
    """Redirects to the messages, and says that no message is selected."""
    return redirect(selection.build_path(name, done="none"))


# --- in words --------------------------------------------------------------------------------------------------------
async def describe(name: str, selection: Selection, page: Page) -> dict[str, str]:
    """Returns the filter's values in words, for a user who decides about the messages. A shape is a hash, so the page
    shows the title of the group instead, or the beginning of a body. Users who may not read messages see neither.
    """
    if selection.filter is None or selection.filter.shape is None:
        return selection.facts
    titled = await page.run(show(read_title(name, selection.filter, page.context)))
    facts = {**(titled or {}), **selection.facts}
    if facts.get("cause", "none") in mask_numbers(facts.get(GROUP, "")):  # A group's title begins with its cause.
        del facts["cause"]
    return facts


def read_title(name: str, wanted: MessageFilter, context: Context) -> Operation[dict[str, str]]:
    """Returns the title of the group that the filter finds, or the beginning of one of its bodies. The title is true of
    the examined messages, so its name says how many these are if the queue has more.
    """
    found = yield from reading.find_group(name, wanted, context)
    if found is None:
        return {}
    group, sample = found.groups[0], found.groups[0].samples[0]
    if not group.title:
        return {"messages like": Seen(sample, sample.state).preview}
    return {GROUP if found.next is None else f"{GROUP} in the first {plural(found.looked_at, 'message')}": group.title}
