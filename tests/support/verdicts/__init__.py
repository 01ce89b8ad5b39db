"""Made-up days of queues, with what really happened in them, for the tests of verdicts."""
