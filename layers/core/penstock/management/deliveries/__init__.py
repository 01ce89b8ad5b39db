"""Deliveries to URLs: pending and failed ones, their attempts, and the health of endpoints."""
