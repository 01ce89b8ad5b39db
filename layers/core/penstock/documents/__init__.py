"""Code that the documents of the management plane share: decoding, queue names, routing keys and times."""
