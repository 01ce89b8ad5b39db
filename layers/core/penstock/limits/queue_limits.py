"""The limits of queues and messages ("Amazon SQS message quotas" and SetQueueAttributes, SQS API reference).

SQL has the same limits: `queue.attribute_rules`, `queue.send_messages` and the checks of the tables. The longest delay
is also a literal in the functions that send later, and a test compares these literals.
"""

from typing import Final

MAX_DELAY_SECONDS: Final = 900
MAX_VISIBILITY_SECONDS: Final = 43_200
MAX_WAIT_SECONDS: Final = 20
MIN_RETENTION_SECONDS: Final = 60
MAX_RETENTION_SECONDS: Final = 1_209_600
MIN_MESSAGE_BYTES: Final = 1_024
"""The smallest MaximumMessageSize."""
MAX_MESSAGE_BYTES: Final = 1_048_576
MAX_BATCH_ENTRIES: Final = 10
