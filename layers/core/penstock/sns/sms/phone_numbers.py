"""Phone numbers in the form of E.164, as SNS takes them."""

import re

_NUMBER = re.compile(r"\+[1-9][0-9]{6,14}").fullmatch


def is_phone_number(text: str) -> bool:
    """`+`, and 7-15 digits with the country's code first (ITU-T E.164)."""
    return _NUMBER(text) is not None
