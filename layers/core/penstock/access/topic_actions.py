"""The actions on a topic that its owner can permit to others."""

# Those of the owner in the default policy of a topic (an example of it: GetTopicAttributes, API reference).
OWNER_ACTIONS = (
    "GetTopicAttributes", "SetTopicAttributes", "AddPermission", "RemovePermission", "DeleteTopic", "Subscribe",
    "ListSubscriptionsByTopic", "Publish",
)  # fmt: skip
