"""Prometheus's text format, version 0.0.4 ("Exposition formats", prometheus.io).

prometheus-client is not used: a scrape of 1,000 busy queues has 56,000 lines, for which that library blocked the event
loop for 0.43 s (measured once, by hand). This module takes 0.05 s, in steps of at most 17 ms
(`python -m benchmarks.costs.metering`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from .families import BLOCKS, Family
from .memory import Key

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Series = tuple[str, Sequence[float]]
"""Formatted labels, without braces, and the numbers of the series."""


def format_labels(names: Sequence[str], values: Sequence[str]) -> str:
    """`name="value",…`; backslashes, quotes and line ends of values are escaped."""
    return ",".join(
        f'{name}="{escape_label_value(value)}"' for name, value in zip(names, values, strict=True)
    )


def escape_label_value(value: str) -> str:
    """The value of a label, with backslashes, quotes and line ends escaped."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def format_blocks(blocks: Mapping[Key, Sequence[float]]) -> Iterator[str]:
    """The text of each family of the blocks."""
    for kind, block in BLOCKS.items():
        found = sorted((key[1:], numbers) for key, numbers in blocks.items() if key[0] == kind)
        written = [(format_labels(block.labels, values), numbers) for values, numbers in found]
        start = 0
        for family in block.families:
            end = start + family.slots
            yield format_family(family, [(text, numbers[start:end]) for text, numbers in written])
            start = end


def format_family(family: Family, series: Iterable[Series]) -> str:
    """The HELP and TYPE lines of a family, and a line for each number."""
    lines = [f"# HELP {family.name} {family.help}", f"# TYPE {family.name} {family.kind}"]
    for text, numbers in series:
        if family.kind == "histogram":
            lines += format_histogram(family, text, numbers)
        else:
            lines.append(
                f"{family.name}{{{text}}} {format_number(numbers[0])}"
                if text
                else f"{family.name} {format_number(numbers[0])}"
            )
    return "\n".join(lines) + "\n"


def format_histogram(family: Family, text: str, numbers: Sequence[float]) -> list[str]:
    """The lines of a histogram: cumulative buckets, sum and count."""
    head = f"{family.name}_bucket{{{text}," if text else f"{family.name}_bucket{{"
    lines = []
    count = 0
    for bound, inside in zip((*map(format_number, family.buckets), "+Inf"), numbers[1:], strict=True):
        count += int(inside)
        lines.append(f'{head}le="{bound}"}} {count}')
    braces = f"{{{text}}}" if text else ""
    lines.append(f"{family.name}_sum{braces} {format_number(numbers[0])}")
    lines.append(f"{family.name}_count{braces} {count}")
    return lines


def format_number(value: float) -> str:
    """A number as text; a whole number has no decimal point."""
    return str(int(value)) if value == int(value) else repr(float(value))
