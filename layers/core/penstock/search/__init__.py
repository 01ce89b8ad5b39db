"""Looks at messages without receiving them: those that pass a filter, and dead letters in groups.

A search looks at a bounded number of messages and says at how many of how many it has looked. It takes no lease, raises
no receive count and locks nothing.

    filters    what a message must be like (queue.find_messages decides)
    messages   the messages that pass a filter
    failures   dead letters in groups, with samples
"""
