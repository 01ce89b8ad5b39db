"""Evaluates the JSONata expressions of subscribers in a separate process.

    syntax ──► sources of a subscriber ──► evaluator ──pipe──► process (jlens, with limits of time and memory)

Source: "Transform events" and "JSONata expressions", custom event bus (Amazon EventBridge User Guide,
https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-custom-bus.html); the language: https://docs.jsonata.org/.
"""
