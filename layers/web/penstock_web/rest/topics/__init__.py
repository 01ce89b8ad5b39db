"""Topics and their subscriptions in the REST API."""
