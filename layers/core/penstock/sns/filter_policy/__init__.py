"""Filter policies of subscriptions.

The package compiles policies when clients set them; queue.policy_matches compares messages with the compiled policies.
"""
