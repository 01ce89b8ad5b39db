"""Filter policies of subscriptions.

This package compiles them when they are set; queue.policy_matches compares them.
"""
