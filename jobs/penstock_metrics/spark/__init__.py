"""Java, the session of Spark, and the code for executors on other machines."""
