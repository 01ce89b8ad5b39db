"""Writes Prometheus's text format 0.0.4 ("Exposition formats", prometheus.io) and OpenMetrics 1.0.0 ("OpenMetrics 1.0",
prometheus.io/docs/specs/om/open_metrics_spec).

This module does not use prometheus_client. A scrape of 1,000 busy queues has 56,000 lines. For these lines,
prometheus_client in its multiprocess mode takes 1.6 s of CPU, and this module takes 0.07 s
(docs/decisions/0015-libraries-beside-the-hot-path.md).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import time
from typing import Final, NamedTuple

from penstock.observing.trace_context import CURRENT_TRACE

from .families import BLOCKS
from .family import Family
from .memory import Key

DURATIONS: Final = "penstock_http_request_duration_seconds"


class Exemplars:
    """Keeps the exemplars of request durations. Only the event loop's thread uses this object."""

    def __init__(self) -> None:
        self._texts: defaultdict[str, dict[int, str]] = defaultdict(dict)

    def add(self, labels: str, bucket: int, seconds: float) -> None:
        """If the current request's trace is sampled, makes the trace the exemplar of a bucket. `labels` are the
        formatted labels of the series. `bucket` is the position of the bucket.
        """
        trace = CURRENT_TRACE.get()
        if trace is not None and trace.sampled:
            self._texts[labels][bucket] = f' # {{trace_id="{trace.trace_id}"}} {seconds!r} {time():.3f}'

    def of(self, name: str, labels: str) -> dict[int, str]:
        """Returns the exemplars of a series by the position of the bucket."""
        return self._texts.get(labels, {}) if name == DURATIONS else {}


Series = tuple[str, Sequence[float]]
"""Represents a series: formatted labels without braces, and numbers."""
FamilySeries = tuple[Family, Sequence[Series]]
"""Represents a metric with its series."""

_ESCAPES: Final = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})


class ExpositionFormat(NamedTuple):
    """A scrape's format. `is_openmetrics` selects OpenMetrics. The scrape contains exemplars only if `exemplars` is
    given."""

    is_openmetrics: bool = False
    exemplars: Exemplars | None = None

    @property
    def content_type(self) -> str:
        """Returns the media type of the response."""
        return (
            "application/openmetrics-text; version=1.0.0; charset=utf-8"
            if self.is_openmetrics
            else "text/plain; version=0.0.4; charset=utf-8"
        )

    @property
    def end(self) -> str:
        """Returns the text that follows all families. OpenMetrics ends a complete response with `# EOF`."""
        return "# EOF\n" if self.is_openmetrics else ""


TEXT: Final = ExpositionFormat()


def format_labels(names: Sequence[str], values: Sequence[str]) -> str:
    """Returns labels in the form `name="value",…`, with escaped values."""
    return ",".join(f'{name}="{escape_label_value(value)}"' for name, value in zip(names, values, strict=True))


def escape_label_value(value: str) -> str:
    """Escapes backslashes, quotes and line ends in a label's value."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def block_series(blocks: Mapping[Key, Sequence[float]]) -> Iterator[FamilySeries]:
    """Yields each family in the blocks, with its series."""
    for kind, block in BLOCKS.items():
        found = sorted((key[1:], numbers) for key, numbers in blocks.items() if key[0] == kind)
        written = [(format_labels(block.labels, values), numbers) for values, numbers in found]
        start = 0
        for family in block.families:
            end = start + family.slots
            yield family, [(text, numbers[start:end]) for text, numbers in written]
            start = end


def format_family(family: Family, series: Iterable[Series], form: ExpositionFormat = TEXT) -> str:
    """Returns the HELP and TYPE lines of a family, and one line for each number."""
    lines = []
    for text, numbers in series:
        if family.kind == "histogram":
            lines += format_histogram(family, text, numbers, form)
        else:
            braces = f"{{{text}}}" if text else ""
            lines.append(f"{family.name}{braces} {format_number(numbers[0])}\n")
    return format_head(family, form) + "".join(lines)


def format_head(family: Family, form: ExpositionFormat) -> str:
    """Returns the HELP and TYPE lines of a metric. OpenMetrics removes `_total` from a counter's name, and adds a line
    for the unit.
    """
    name = family.name
    if not form.is_openmetrics:
        return f"# HELP {name} {family.help}\n# TYPE {name} {family.kind}\n"
    name = name.removesuffix("_total") if family.kind == "counter" else name
    unit = f"# UNIT {name} seconds\n" if name.endswith("_seconds") else ""
    return f"# TYPE {name} {family.kind}\n{unit}# HELP {name} {family.help.translate(_ESCAPES)}\n"


def format_histogram(family: Family, text: str, numbers: Sequence[float], form: ExpositionFormat = TEXT) -> list[str]:
    """Returns the lines of a histogram: cumulative buckets, sum and count."""
    head = f"{family.name}_bucket{{{text}," if text else f"{family.name}_bucket{{"
    exemplars = form.exemplars.of(family.name, text) if form.exemplars is not None else {}
    lines = []
    count = 0
    # OpenMetrics writes whole bucket bounds with a decimal point ("Considerations: Canonical Numbers").
    bounds = map(repr if form.is_openmetrics else format_number, family.buckets)
    for position, (bound, inside) in enumerate(zip((*bounds, "+Inf"), numbers[1:], strict=True)):
        count += int(inside)
        lines.append(f'{head}le="{bound}"}} {count}{exemplars.get(position, "")}\n')
    braces = f"{{{text}}}" if text else ""
    lines.append(f"{family.name}_sum{braces} {format_number(numbers[0])}\n")
    lines.append(f"{family.name}_count{braces} {count}\n")
    return lines


def format_number(value: float) -> str:
    """Formats a number. The text of a whole number has no decimal point."""
    return str(int(value)) if value == int(value) else repr(float(value))
