"""Implements `penstock metrics report`: writes the queues' state and history as one HTML file with charts."""
