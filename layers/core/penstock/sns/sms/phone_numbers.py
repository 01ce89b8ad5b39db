"""Phone numbers in E.164 form, as SNS accepts them."""

import re

_NUMBER = re.compile(r"\+[1-9][0-9]{6,14}").fullmatch


def is_phone_number(text: str) -> bool:
    """Returns whether a text is `+` and 7-15 digits, with the country code first (ITU-T E.164)."""
    return _NUMBER(text) is not None
