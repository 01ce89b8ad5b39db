"""E-mail: messages and confirmations for the protocols `email` and `email-json`, by the mail server of SNS_SMTP_URL.

    message.py       a delivery as a mail: headers and text
    outcome.py       what a reply of the server means: accepted, tried again, refused
    carrier.py       an attempt: a connection, the envelope, the mail

Claims, retries and dead letters are those of every delivery; queue.hand_over_mail makes the deliveries.
"""
