"""Reads a URL's parameters and a form's fields."""

from typing import Final, Self
from urllib.parse import parse_qsl

from fastapi import Request
from starlette.datastructures import QueryParams

from penstock.errors import InvalidParameterValue, RequestEntityTooLarge

MAX_FORM_LENGTH: Final = 1_400_000
"""Bytes. A form can contain a message of 256 KiB with escaped characters and attributes."""


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
