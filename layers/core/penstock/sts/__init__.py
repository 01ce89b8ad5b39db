"""The part of AWS STS that SDKs need before they can reach the queues: the caller's identity, and credentials for the
caller.
"""
