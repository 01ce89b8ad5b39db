"""Documents of messages, their conversion to and from the form of SQS, and operations on and searches of messages."""
