"""Messages: their documents, their conversion to and from those of SQS, operations on them, and searches."""
