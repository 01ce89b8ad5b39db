"""Codecs between bytes and the types of `messages`, compiled once per type: `json`, `query` and `xml`."""
