"""Typed requests and results of every action, one module for each service."""
