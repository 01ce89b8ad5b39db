"""Encodes and decodes requests and results. The codecs are compiled once per type."""
