"""Filter policies of subscriptions.

The package compiles policies when they are set; queue.policy_matches compares messages with them.
"""
