"""Filter policies of subscriptions: compiled here when they are set, compared in queue.policy_matches.sql at a publish."""
