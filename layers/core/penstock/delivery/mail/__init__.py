"""Sends messages and confirmations for the protocols `email` and `email-json` by the mail server of SNS_SMTP_URL.

    message.py       the mail of a delivery: headers and text
    outcome.py       the meaning of the server's reply: accepted, retried, refused
    carrier.py       an attempt: a connection, the envelope, the mail

Claims, retries and dead letters work as for every delivery. queue.hand_over_mail creates the deliveries.
"""
