"""Describes in a sentence where a text is not JSON, and what JSON has there."""

import json
from typing import Final, NamedTuple

from penstock.aws.json_text import decode_any_json

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
