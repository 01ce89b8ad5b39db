"""Examines messages without receiving them: searches by filter, and groups of dead letters.

A search examines a bounded number of messages, and reports how many it examined out of how many. A search takes no
lease, raises no receive count and locks nothing.

    filters    the conditions of a filter, which queue.find_messages evaluates
    messages   finds the messages that pass a filter
    failures   puts dead letters into groups, with samples
"""
