"""The limits of a response's length, and the estimate of messages' lengths that keeps responses within the limits."""
