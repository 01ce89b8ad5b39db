"""How schedules fire, for the worker `penstock.workers.fire`.

plan.py              which occurrences of a due schedule fire now, and when it is due again. Pure
store.py             a batch in the database: claimed, planned and fired in one transaction
topic_messages.py    messages for topics of SNS, signed
traces.py            occurrences as spans
"""
