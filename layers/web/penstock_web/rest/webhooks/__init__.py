"""/v1/deliveries: webhooks under way and given up, the log of attempts, and the endpoints."""
