"""The part of AWS STS that SDKs call before they reach the queues: the caller's identity and credentials."""
