"""How schedules fire, for the worker `penstock.workers.fire`."""
