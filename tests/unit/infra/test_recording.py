"""Tests the terminal screen and the picture of `make recording`."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from infra.site.recording import LARGEST_BYTES, PICTURE, draw
from infra.site.screen import COLUMNS, ROWS, Film, Screen, Shown


@pytest.mark.parametrize(
    ("written", "rows"),
    [
        ("a\r\nb\r\n", ["a", "b", ""]),
        ("abc\rx", ["xbc"]),
        ("ab\bc", ["ac"]),
        ("\x1b[1;32mgreen\x1b[0m\x1b[K", ["green"]),
        ("x" * (COLUMNS + 2), ["x" * COLUMNS, "xx"]),
        ("x" * COLUMNS, ["x" * COLUMNS]),
    ],
)
def test_a_screen_shows_what_a_terminal_shows(written: str, rows: list[str]) -> None:
    screen = Screen()
    screen.write(written)
    assert screen.visible() == rows


def test_a_screen_scrolls() -> None:
    screen = Screen()
    screen.write("\r\n".join(map(str, range(ROWS + 5))))
    assert screen.visible() == [str(number) for number in range(5, ROWS + 5)]


def test_a_film_says_how_long_each_row_shows_a_text() -> None:
    film = Film()
    film.show(["a", "b"])
    film.wait(1)
    film.show(["a", "c"])
    film.wait(2)
    assert film.end() == [Shown(0, "a", 0, 3), Shown(1, "b", 0, 1), Shown(1, "c", 1, 3)]


def test_a_picture_has_times_and_no_program() -> None:
    picture = draw([Shown(0, "$ send '<1>'", 0, 1), Shown(0, "sent  1", 1, 4)], 4)
    first, second = ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}animate")
    assert (first.get("keyTimes"), first.get("values")) == ("0;0.2500", "visible;hidden")
    assert (second.get("keyTimes"), second.get("values")) == ("0;0.2500", "hidden;visible")


def test_the_picture_of_the_documents_is_small_and_needs_no_scripts_and_styles() -> None:
    text = PICTURE.read_text()
    assert len(text.encode()) <= LARGEST_BYTES
    names = {element.tag.rpartition("}")[2] for element in ET.fromstring(text).iter()}
    assert names == {"svg", "title", "rect", "circle", "g", "text", "tspan", "animate"}
