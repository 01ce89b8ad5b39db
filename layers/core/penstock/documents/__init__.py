"""Parts of the documents of the management plane: how they are read, and the queues, keys and times in them."""
