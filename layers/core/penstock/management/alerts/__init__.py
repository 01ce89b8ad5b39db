"""Alerts: tells accounts and the installation's operator what needs attention, without Prometheus.

`state.py` decides which problems to tell, `messages.py` writes the messages, `evaluation.py` joins both with the
database, and `operations.py` contains the operations of users.
"""
