"""Delivers the events of buses to the targets of their subscribers, for the worker `penstock.workers.events`."""
