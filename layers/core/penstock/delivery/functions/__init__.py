"""Functions of AWS Lambda: Invoke, for event source mappings, subscriptions of functions, and schedules.

request.py       the URL of a request to Lambda, signed with the credentials of this process
client.py        Invoke
configuration.py how long a function may take
event.py         a delivery as the event that the function gets
outcome.py       what an answer of Lambda means: delivered, tried again, given up
carrier.py       an attempt: an asynchronous invocation, and what came of it
"""
