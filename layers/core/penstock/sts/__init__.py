"""The part of AWS STS that SDKs need to reach the queues: the caller's identity, and credentials for the caller."""
