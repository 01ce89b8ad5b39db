"""Messages: their documents, their conversion to and from the form of SQS, operations on them, and searches."""
