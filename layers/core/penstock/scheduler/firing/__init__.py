"""Fires schedules, for the worker `penstock.workers.fire`.

plan.py              plans which occurrences of a due schedule fire now, and when it is due next store.py
claims, plans and fires a batch in one transaction of the database topic_messages.py    signed messages for topics of
SNS traces.py            spans of occurrences
"""
