"""Fires schedules, for the worker `penstock.workers.fire`."""
