"""The pages of the console to which concerns and alerts link.

The core layer builds the paths, because Lambda functions without the web layer send alerts.
"""

from enum import Enum
from typing import Final
from urllib.parse import quote

CONSOLE: Final = "/console"


class ConsolePage(Enum):
    """A page of the console. The value is the path below /console, with the parameters of the screen's path."""

    QUEUE = "/queues/{name}"
    FAILURES = "/queues/{name}/failures"
    RETURNING_MESSAGES = "/queues/{name}/messages?min_receives=2"
    MAPPINGS_OF_QUEUE = "/mappings?queue={name}"
    MAPPING = "/mappings/{mapping}"
    DELIVERIES = "/deliveries"
    WAITING_DELIVERIES = "/deliveries?view=waiting"
    GIVEN_UP_DELIVERIES = "/deliveries?view=given-up"
    FAILED_ATTEMPTS = "/deliveries?view=attempts&failed=1"
    FAILED_ATTEMPTS_OF_ENDPOINT = "/deliveries?view=attempts&failed=1&endpoint={endpoint}"
    SCHEDULES = "/schedules"
    SCHEDULE = "/schedules/{schedule}"
    SUBSCRIBER = "/buses/{bus}/subscribers/{subscriber}"
    SYSTEM = "/system"

    @property
    def screen_path(self) -> str:
        """The path by which the console declares the screen."""
        return CONSOLE + self.value.partition("?")[0]

    def build_path(self, **names: str) -> str:
        """Returns the path of the page about resources with these names."""
        return CONSOLE + self.value.format(**{key: quote(name, safe="") for key, name in names.items()})
