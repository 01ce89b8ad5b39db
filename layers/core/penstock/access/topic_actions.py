"""The actions on a topic that its owner can permit to others."""

# The owner's actions in a topic's default policy (example of GetTopicAttributes, API reference).
OWNER_ACTIONS = (
    "GetTopicAttributes", "SetTopicAttributes", "AddPermission", "RemovePermission", "DeleteTopic", "Subscribe",
    "ListSubscriptionsByTopic", "Publish",
)  # fmt: skip
