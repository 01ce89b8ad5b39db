"""Deliveries to URLs: pending and failed deliveries, their attempts, and the health of endpoints."""
