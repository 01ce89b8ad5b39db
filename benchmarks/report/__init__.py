"""Summaries of scenarios, and the page with pictures that is made of them."""
