"""Shows each queue's busiest message groups as a table with bars."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from .formats import count, plural, share
from .svg import clip_name

LEAST_SHARE = 0.05
"""The smallest share of arrivals with which a queue's busiest group appears in the report."""


class Bar(NamedTuple):
    """A message group and its number of arrivals."""

    name: str
    value: int


@dataclass(frozen=True)
class HotGroups:
    """A queue's groups that have the most arrivals. `arrivals` counts all messages that arrived in the queue, including
    messages without a group.
    """

    queue: str
    bars: list[Bar]
    arrivals: int

    @property
    def top_share(self) -> float:
        """Returns the busiest group's share of the arrivals."""
        return self.bars[0].value / self.arrivals if self.bars else 0.0


def build_groups_section(queues: Sequence[HotGroups]) -> Iterator[str]:
    """Yields a table for each queue in which one group has a large share of the arrivals, from the largest to the
    smallest share. Does not yield anything if there are no groups.
    """
    grouped = sorted((queue for queue in queues if queue.bars), key=lambda queue: -queue.top_share)
    if not grouped:
        return
    shown = [queue for queue in grouped if queue.top_share >= LEAST_SHARE or len(queues) == 1]
    yield "<section><h3>Message groups</h3><p>The groups with the most arrivals, and their shares of all arrivals."
    if rest := len(grouped) - len(shown):
        yield f" In {plural(rest, 'more queue')}, every group has less than {share(LEAST_SHARE)}."
    yield '</p><div class="tiles">'
    yield from (_table(queue) for queue in shown)
    yield "</div></section>"


def _table(queue: HotGroups) -> str:
    rows = "".join(_row(bar, bar.value / queue.arrivals) for bar in queue.bars)
    heads = "".join(f'<th scope="col">{text}</th>' for text in ("Group", "Share", "", "Arrivals"))
    heads = heads.replace('<th scope="col"></th>', "<td></td>")
    caption = f"{clip_name(queue.queue)} {count(queue.arrivals)} arrivals"
    return (
        f'<table class="groups"><caption>{caption}</caption><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _row(bar: Bar, part: float) -> str:
    width = f"{100 * part:.1f}%"
    return (
        f'<tr><th scope="row">{clip_name(bar.name)}</th><td>{escape(share(part))}</td>'
        f'<td class="track"><i style="width:{width}"></i></td><td>{count(bar.value)}</td></tr>'
    )
