"""Functions of AWS Lambda: Invokes functions for event source mappings, subscriptions of functions, and schedules.

request.py       the URL of a request to Lambda, signed with the credentials of this process
client.py        Invoke
configuration.py the timeout of a function
event.py         the function's event for a delivery
outcome.py       the meaning of Lambda's answer: delivered, retried, given up
carrier.py       an attempt: an asynchronous invocation and its outcome
"""
