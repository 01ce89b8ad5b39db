"""Encodes and decodes requests and results. The package compiles each codec once per type."""
