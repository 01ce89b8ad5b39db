"""Queue metrics: the documents, and the operations that read them."""
