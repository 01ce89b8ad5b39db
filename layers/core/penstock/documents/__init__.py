"""Code for the documents of the management API: decoding, queue names, routing keys and times."""
