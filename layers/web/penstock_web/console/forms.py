"""Reads a URL's parameters and a form's fields, and finds the field that an error is about."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, Self
from urllib.parse import parse_qsl

from fastapi import Request
from starlette.datastructures import QueryParams

from penstock.aws.json_text import decode_any_json
from penstock.errors import AwsError, InvalidParameterValue, RequestEntityTooLarge

MAX_FORM_LENGTH: Final = 3_400_000
"""Bytes. A form can contain a message of 1 MiB. Browsers send three bytes for most characters that are not letters."""


class Query(QueryParams):
    """An address's parameters. Replaces NUL with U+FFFD, because PostgreSQL cannot store NUL."""

    def __init__(self, query_string: bytes) -> None:
        super().__init__(query_string.replace(b"%00", b"%EF%BF%BD"))

    def read_number(self, name: str, default: int, most: int = 2**62) -> int:
        """Returns a whole number from 1 to `most`, or the default for any other value."""
        text = self.get(name, "")
        is_number = text.isascii() and text.isdigit() and len(text) < 20 and 1 <= int(text) <= most
        return int(text) if is_number else default

    def read_choice(self, name: str, choices: tuple[str, ...]) -> str:
        """Returns the parameter if it is one of `choices`, and otherwise the first choice."""
        value = self.get(name, "")
        return value if value in choices else choices[0]


class Form:
    """A form's fields. A request without a form does not contain fields."""

    def __init__(self, fields: dict[str, list[str]] | None = None) -> None:
        self._fields = fields or {}

    def get(self, name: str) -> str:
        """Returns a field, or an empty string if the field is missing."""
        return self._fields.get(name, [""])[0]

    def get_all(self, name: str) -> list[str]:
        """Returns all values of a repeated field."""
        return self._fields.get(name, [])

    def get_text(self, name: str) -> str:
        """Returns a text of several lines as the user typed it. Browsers send CRLF for each line break."""
        return self.get(name).replace("\r\n", "\n").strip()

    def get_rows(self, *names: str) -> list[tuple[str, ...]]:
        """Returns the rows of repeated fields that stand side by side, without rows whose first field is empty."""
        rows = zip(*map(self.get_all, names), strict=False)
        return [(row[0].strip(), *row[1:]) for row in rows if row[0].strip()]

    def get_tags(self) -> dict[str, str]:
        """Returns the tags of the field `tags`, which has lines such as `team=orders`."""
        lines = filter(None, map(str.strip, self.get("tags").splitlines()))
        return {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}

    @classmethod
    def filled(cls, values: Mapping[str, str], rows: Mapping[str, Iterable[str]] | None = None) -> Self:
        """Returns a form with values that the user has not typed. `rows` are repeated fields."""
        repeated = {name: list(texts) for name, texts in (rows or {}).items()}
        return cls({name: [text] for name, text in values.items()} | repeated)

    @classmethod
    async def read(cls, request: Request) -> Self:
        """Reads the body. Raises RequestEntityTooLarge and InvalidParameterValue."""
        body = await request.body()
        if len(body) > MAX_FORM_LENGTH:
            raise RequestEntityTooLarge
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if body and kind != "application/x-www-form-urlencoded":
            raise InvalidParameterValue("The console accepts only forms.")
        try:
            pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=2_000, errors="strict")
        except ValueError as error:
            raise InvalidParameterValue(f"This form cannot be read: {error}") from error
        fields: dict[str, list[str]] = {}
        for name, value in pairs:
            fields.setdefault(name, []).append(value)
        return cls(fields)


class FieldProblem(NamedTuple):
    """A problem of a form's field. If the problem has a place in the field's text, `before` and `after` are the text
    around the place. `suggestion` is a text that the user probably means.
    """

    text: str
    before: str = ""
    after: str = ""
    suggestion: str = ""


MAX_EXCERPT_LENGTH: Final = 60
_NOT_JSON: Final = "failed to parse JSON"
_OF_ATTRIBUTES: Final = "Invalid parameter: Attributes Reason: "
_SOURCE = re.compile(r" \(start marker at \[Source: .*?\]\)")
_PLACE = re.compile(r"line: (\d{1,7}), column: (\d{1,7})")


def find_problems(error: AwsError, form: Form, fields: Mapping[str, str]) -> dict[str, FieldProblem]:
    """Returns an error by the field that it is about. `fields` maps the names of members to fields. The last name in
    the path of the error's member counts that has a field. An error without such a name has an empty name, and belongs
    to the whole form.
    """
    text = error.message if error.detail is None else f"{error.message.rstrip('.')}. {error.detail}"
    field = next((fields[name] for name in reversed(error.member.split(".")) if name in fields), "")
    return {field: locate_problem(text, form.get_text(field))}


def locate_problem(text: str, value: str) -> FieldProblem:
    """Returns the problem with an excerpt of the value, if the text ends with a line and a column (from 1).

    For a value that is not JSON, says what JSON has at the place, because AWS's texts contain words of a parser.
    """
    places = _PLACE.findall(text)
    lines = value.split("\n")
    said = _SOURCE.sub("", text.partition("\n")[0]).removeprefix(_OF_ATTRIBUTES).strip()
    if (fault := find_json_fault(value) if _NOT_JSON in text else None) is not None:
        said, places = f"This is not JSON. {fault.text}", [(str(fault.line), str(fault.column))]
    if not places or not 0 < int(places[-1][0]) <= len(lines):
        return FieldProblem(said or text)
    line = lines[int(places[-1][0]) - 1]
    column = min(int(places[-1][1]) - 1, len(line))
    shown = f"Line {places[-1][0]}, column {places[-1][1]}: {said}"
    return FieldProblem(shown, line[max(0, column - MAX_EXCERPT_LENGTH) : column], line[column:][:MAX_EXCERPT_LENGTH])


# --- JSON -------------------------------------------------------------------------------------------------------------
EXPECTED: Final = {
    "Expecting value": "A value is expected: a text in quotes, a number, a list, an object, true, false or null.",
    "Expecting property name enclosed in double quotes": "A name in double quotes is expected.",
    "Expecting ':' delimiter": "A colon is expected.",
    "Expecting ',' delimiter": "A comma or a closing bracket is expected.",
    "Illegal trailing comma before end of object": "A comma cannot precede a closing bracket.",
    "Illegal trailing comma before end of array": "A comma cannot precede a closing bracket.",
    "Extra data": "The JSON ends before this place, so nothing can follow.",
    "Unterminated string starting at": "The text that begins here has no closing quote.",
    "Invalid control character at": "A text cannot contain a line break or another control character.",
    "Invalid \\escape": "One of the characters \" \\ / b f n r t u must follow a backslash.",
    "Invalid \\uXXXX escape": "Four hexadecimal digits must follow \\u.",
}  # fmt: skip
"""The sentences for the messages of Python's decoder, as they begin."""


class JsonFault(NamedTuple):
    """A fault of a JSON text. `line` and `column` count from 1."""

    text: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"Line {self.line}, column {self.column}: {self.text}"


def find_json_fault(text: str) -> JsonFault | None:
    """Returns the first fault of a text that is not JSON, or None for JSON."""
    try:
        decode_any_json(text)
    except json.JSONDecodeError as error:
        expected = next((words for start, words in EXPECTED.items() if error.msg.startswith(start)), f"{error.msg}.")
        is_end = not text[error.pos :].strip() and "closing quote" not in expected
        return JsonFault(f"The JSON ends too early. {expected}" if is_end else expected, error.lineno, error.colno)
    except RecursionError:
        return JsonFault("The JSON is nested too deeply.", 1, 1)
    except ValueError as error:  # a number that Python cannot read
        return JsonFault(f"{error}.", 1, 1)
    return None
