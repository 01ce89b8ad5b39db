"""/v1/deliveries: deliveries under way and given up, the log of attempts, and the endpoints."""
