"""Deliveries to URLs: pending and failed deliveries, attempts, and the health of endpoints."""
