"""Amazon Resource Names of schedules and schedule groups."""

import re
from typing import NamedTuple

DEFAULT_GROUP = "default"

_GROUP = re.compile(r"arn:aws:scheduler:([a-z0-9-]+):([0-9]{12}):schedule-group/([0-9a-zA-Z_.-]{1,64})").fullmatch


class GroupArn(NamedTuple):
    region: str
    account_id: str
    name: str

    def __str__(self) -> str:
        return f"arn:aws:scheduler:{self.region}:{self.account_id}:schedule-group/{self.name}"


def schedule_arn(region: str, account_id: str, group: str, name: str) -> str:
    """Returns a schedule's ARN, which always contains the group's name."""
    return f"arn:aws:scheduler:{region}:{account_id}:schedule/{group}/{name}"


def split_schedule_key(key: str) -> tuple[str, str]:
    """Returns the group and the name in a schedule's key: `NAME` in the group `default`, `GROUP:NAME` in another group.
    Names of schedules and groups contain no colon."""
    group, _, name = key.rpartition(":")
    return group or DEFAULT_GROUP, name


def build_schedule_key(group: str, name: str) -> str:
    """Returns the key of a schedule."""
    return name if group == DEFAULT_GROUP else f"{group}:{name}"


def parse_group_arn(text: str) -> GroupArn | None:
    """Returns the parts of a group's ARN, or None for any other text."""
    match = _GROUP(text)
    return GroupArn(match[1], match[2], match[3]) if match is not None else None
