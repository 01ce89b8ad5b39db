"""Expressions to try, made by Hypothesis: well-formed ones, and texts of their words that mostly are not."""

from datetime import UTC, datetime

from hypothesis import strategies as st

instants = st.integers(315_532_800, 4_733_510_400).map(lambda second: datetime.fromtimestamp(second, UTC))
"""1980 to 2119."""


@st.composite
def fields(draw: st.DrawFn, low: int, high: int) -> str:
    """A field of numbers: `*`, `*/n`, `a`, `a/n`, `a-b`, `a-b/n`, and lists of them."""
    steps = st.integers(1, high)
    items = []
    for _ in range(draw(st.integers(1, 3))):
        first = draw(st.integers(low, high))
        last = draw(st.integers(first, high))
        step = draw(steps)
        forms = (f"{first}", f"{first}-{last}", f"{first}/{step}", f"{first}-{last}/{step}")
        items.append(draw(st.sampled_from(forms)))
    return draw(st.sampled_from(["*", f"*/{draw(steps)}", ",".join(items)]))


crons = st.tuples(fields(0, 59), fields(0, 23), fields(1, 31), fields(1, 12), fields(0, 6)).map(" ".join)
month_days = st.one_of(
    fields(1, 31),
    st.sampled_from(["L", "LW", "1W", "15W", "31W", "L-1", "L-3", "L-30", "1,L", "15W,LW", "5,L-2"]),
)
week_days = st.one_of(
    fields(1, 7),
    st.sampled_from(["L", "1L", "6L", "7L", "1#1", "2#5", "6#3", "7#4", "2,6L"]),
)
days = month_days.map(lambda day: (day, "?")) | week_days.map(lambda day: ("?", day))
years = st.sampled_from(["*", "2026", "2024-2030", "2000/7", "1999,2050,2100"])
instants_of_years = st.integers(1_640_995_200, 1_861_920_000).map(
    lambda second: datetime.fromtimestamp(second, UTC)
)

WORDS = (
    "every daily hourly at day weekday weekdays monday 5 60 0 minutes hours 9am 9 am 13pm :15 noon * */5 ? L W # 1-5 "
    "5-1 MON JAN cron( rate( at( ) , / - 2026-01-31 T09:00:00 Z s m h d 30s"
)
words = st.lists(st.sampled_from(WORDS.split(" ")), max_size=8)
texts = st.text(max_size=300) | words.map(" ".join) | words.map("".join)
