"""Topics and their subscriptions in the native REST API."""
