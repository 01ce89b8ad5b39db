"""The report as HTML, section by section, while it is read from the database. It has no scripts, fonts or links."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from html import escape
from importlib.resources import files

from penstock.errors import QueueDoesNotExist
from penstock_web.native.metrics.documents import Latency, QueueLag, QueueMetrics
from penstock_web.native.metrics.operations import Span

from .charts import Period, count_chart, duration_chart, heat_map, pareto, shade_legend, sparkline
from .formats import count, duration, moment, rate
from .outlook import forecast_text, interval_text, warning_texts
from .read import MAX_GROUPS, MAX_QUEUES, HeatMap, HotGroups, Reader
from .svg import element

STYLE = files(__package__).joinpath("report.css")
STALE = timedelta(minutes=10)
_COLUMNS = ("Queue", "Visible", "In flight", "Delayed", "Oldest", "Stored backlog", "Arrivals /s", "Drained /s",
            "Empty in", "In an hour", "Interval", "Forecast", "By", "Wait p50", "Lag p50", "Lag p99",
            "Computed (UTC)", "Warnings")  # fmt: skip
_WINDOWS = {"1m": "minute", "1h": "hour", "1d": "day"}


def page(reader: Reader) -> Iterator[str]:
    """The pieces of the document. Raises QueueDoesNotExist, before the first piece, if the named queue is missing."""
    names = reader.busiest()
    yield from _head(reader)
    yield from _over_time(reader, names)
    yield from _heat_section(reader.heat(names))
    yield from _hot_groups(reader.hot_groups())
    yield from _lag_section(reader)
    yield "</body></html>\n"


def _head(reader: Reader) -> Iterator[str]:
    title = f"Penstock: {reader.queue or 'queues'}"
    yield f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>{STYLE.read_text()}</style></head><body><h1>{escape(title)}</h1>"""
    span = reader.span
    now = datetime.now(UTC)
    yield f'<p class="quiet">{moment(span.start)} to {moment(span.end)} UTC. Written {moment(now)}.</p>'
    yield notice(next(reader.lag()).computed_at, now)


def notice(computed_at: datetime | None, now: datetime) -> str:
    """A paragraph that says how old the data are."""
    if computed_at is None:
        return (
            '<p class="notice">No metrics have been computed yet: <code>make metrics</code> runs the job.</p>'
        )
    if now - computed_at > STALE:
        age = duration((now - computed_at).total_seconds() * 1_000_000)
        return f'<p class="notice">Old data: the metrics job last ended {moment(computed_at)} UTC, {age} ago.</p>'
    return f'<p class="quiet">Computed {moment(computed_at)} UTC.</p>'


# --- over time -------------------------------------------------------------------------------------------------------
def _over_time(reader: Reader, names: Sequence[str]) -> Iterator[str]:
    yield "<h2>Depth and lag over time</h2>"
    if not names:
        yield "<p>No queue has metrics of this time.</p>"
        return
    if reader.queue is None:
        yield f"<p>The queues with most arrivals, at most {MAX_QUEUES}.</p>"
    yield (
        '<ul class="legend">'
        + _key("first", "depth; lag, median")
        + _key("second", "lag, 99th percentile")
        + "</ul>"
    )
    for name in names:
        try:
            yield _queue(reader.windows(name), reader.span)
        except QueueDoesNotExist:
            continue  # deleted meanwhile


def _key(kind: str, text: str) -> str:
    """A line of the legend."""
    stroke = element("path", d="M1 4H27", class_=f"line {kind}")
    return f'<li><svg viewBox="0 0 28 8" aria-hidden="true">{stroke}</svg>{text}</li>'


def _queue(metrics: QueueMetrics, span: Span) -> str:
    """Both charts of a queue. A depth is that of a window's end; a lag belongs to the whole window."""
    period = Period(span.start, span.end, timedelta(seconds=span.seconds * 1.5))
    depth = [(window.ends_at, float(window.depth)) for window in metrics.windows]
    lags = [(window.ends_at, window.lag) for window in metrics.windows if window.lag is not None]
    lines = {
        "first": [(at, float(lag.p50_us)) for at, lag in lags],
        "second": [(at, float(lag.p99_us)) for at, lag in lags],
    }
    each = f"messages sent and not finished, each {_WINDOWS[span.window]}"
    pictures = (
        _figure(f"Depth: {each}", count_chart(f"Depth of {metrics.queue}", depth, period) if depth else ""),
        _figure(
            "Lag: from sending to deletion",
            duration_chart(f"Lag of {metrics.queue}", lines, period) if lags else "",
        ),
    )
    return f'<section><h3>{escape(metrics.queue)}</h3><div class="pair">{"".join(pictures)}</div></section>'


def _figure(caption: str, picture: str) -> str:
    return f"<figure><figcaption>{caption}</figcaption>{picture or '<p>Nothing in this time.</p>'}</figure>"


# --- heat, groups ----------------------------------------------------------------------------------------------------
def _heat_section(heat: HeatMap) -> Iterator[str]:
    yield "<section><h2>Lag by queue and hour</h2>"
    if not heat.cells:
        yield "<p>No message was deleted in this time.</p></section>"
        return
    width = duration(heat.step.total_seconds() * 1_000_000)
    yield f"<p>95th percentile of the time from sending to deletion; a column is {width}.</p>"
    yield f'<div class="wide">{heat_map(heat.names, heat.slots, heat.cells)}</div><ul class="legend">'
    yield from (f'<li><i class="shade{number}"></i>{text}</li>' for number, text in shade_legend())
    yield "<li><i></i>no message was deleted</li></ul></section>"


def _hot_groups(groups: HotGroups) -> Iterator[str]:
    yield "<section><h2>Hot message groups</h2>"
    if groups.bars:
        yield (
            f"<p>Their shares of {count(groups.arrivals)} arrivals; at most {MAX_GROUPS} groups.</p>"
            f'<ul class="legend">{_key("second", "with all groups above it")}</ul>'
            f'<div class="wide">{pareto(groups.bars, groups.arrivals)}</div></section>'
        )
    else:
        yield "<p>No message of a group arrived in this time.</p></section>"


# --- the table -------------------------------------------------------------------------------------------------------
def _lag_section(reader: Reader) -> Iterator[str]:
    """The table of queues, page by page; the current counts are those at the time of writing."""
    yield "<section><h2>Backlog now, and in an hour</h2>"
    empty = True
    for read in reader.lag():
        if read.queues and empty:
            heads = "".join(f'<th scope="col">{column}</th>' for column in _COLUMNS)
            yield f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>'
            empty = False
        yield from (_row(queue) for queue in read.queues)
    if empty:
        yield "<p>There is no queue.</p></section>"
        return
    yield '</tbody></table></div><p class="quiet">Visible, in flight, delayed and the age of the oldest message are'
    yield " those of the moment of writing; the rest is as of the time in the last column, rates over 15 minutes,"
    yield " latencies of the hour of the clock and the one before it. “never”: more arrives than is drained. A queue"
    yield " has a forecast where a method was better, over the last day, than that it stays as it is.</p></section>"


def _row(queue: QueueLag) -> str:
    now, last = queue.now, queue.forecast[-1] if queue.forecast else None
    cells = (
        count(now.visible), count(now.in_flight), count(now.delayed), duration(now.oldest_age_us or None),
        count(queue.backlog), rate(queue.arrival_rate), rate(queue.drain_rate), _drained(queue),
        count(None) if last is None else f"{count(last.messages)} ({count(last.low)} to {count(last.high)})",
        interval_text(queue.outlook), _forecast_cell(queue), forecast_text(queue.outlook),
        _percentile(queue.wait, "p50_us"), _percentile(queue.lag, "p50_us"), _percentile(queue.lag, "p99_us"),
        count(None) if queue.computed_at is None else moment(queue.computed_at), " ".join(warning_texts(queue)),
    )  # fmt: skip
    return f"<tr><td>{escape(queue.name)}</td>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _drained(queue: QueueLag) -> str:
    if queue.drain_seconds is None:
        return "never" if queue.backlog else count(None)
    return duration(queue.drain_seconds * 1_000_000) if queue.drain_seconds else "now"


def _percentile(latency: Latency | None, name: str) -> str:
    return duration(None if latency is None else getattr(latency, name))


def _forecast_cell(queue: QueueLag) -> str:
    points = queue.forecast
    if not points:
        return ""
    values, low, high = ([getattr(point, name) for point in points] for name in ("messages", "low", "high"))
    return sparkline(values, low, high, f"From {count(values[0])} to {count(values[-1])} in an hour")
