"""Deliveries to URLs: waiting and failed ones, their attempts, and the health of endpoints."""
