"""Searches messages by filter and groups dead letters, without a receive.

A search examines a bounded number of messages, and reports this number and the number of all messages. A search does
not lease or lock messages, and does not change receive counts.
"""
