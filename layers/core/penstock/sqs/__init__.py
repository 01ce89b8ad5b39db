"""Amazon SQS: types, errors, attributes, and the operations of its actions."""
