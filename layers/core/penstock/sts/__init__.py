"""The part of AWS STS that SDKs need to get to the queues: who is calling, and credentials for the same caller."""
