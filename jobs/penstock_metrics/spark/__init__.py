"""Provides Java, the Spark session, and the code for executors on other machines."""
