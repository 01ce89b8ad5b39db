"""Filter policies of subscriptions: compiled here when they are set, compared by queue.policy_matches at a publish."""
