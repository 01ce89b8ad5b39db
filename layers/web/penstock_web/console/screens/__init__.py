"""Holds the screens of the console, one module for each, with its routes."""
