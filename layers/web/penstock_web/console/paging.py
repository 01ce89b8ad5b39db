"""Divides the console's lists into pages: by number, or with a link to the rows after the last row."""

from collections.abc import Callable, Hashable, Sequence
from typing import Final, TypeVar

from .forms import Query

PAGE: Final = 50
MAX_NUMBER: Final = 1_000_000
MAX_TROUBLED: Final = 50
"""The maximum number of rows that come before the order of a list because they fail or are late."""

T = TypeVar("T")


def read_page_number(query: Query) -> int:
    """Returns the URL's page number. The first page is 1."""
    return query.read_number("page", 1, MAX_NUMBER)


def count_rows_before(number: int) -> int:
    """Returns the number of rows on the pages before this page."""
    return (number - 1) * PAGE


def count_pages(total: int) -> int:
    """Returns the number of pages for `total` rows. An empty list has one page."""
    return max(1, -(-total // PAGE))


def cut_page(found: Sequence[T], size: int = PAGE) -> tuple[Sequence[T], bool]:
    """Returns the page's rows, and whether more rows follow. The caller has read up to `size` + 1 rows."""
    return found[:size], len(found) > size


def put_first(troubled: Sequence[T], rows: Sequence[T], key: Callable[[T], Hashable]) -> list[T]:
    """Returns the first page of a list that begins with the rows in trouble. Later pages show the same rows again in
    their places, so that no page is empty.
    """
    first = {key(row) for row in troubled}
    return [*troubled, *(row for row in rows if key(row) not in first)]
