"""Finds Java, opens the Spark session, and packs the code for executors on other machines."""
