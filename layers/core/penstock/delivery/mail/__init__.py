"""Sends messages and confirmations for the protocols `email` and `email-json` by the mail server of SNS_SMTP_URL.

Claims, retries and dead letters work in the same way as for other deliveries. queue.hand_over_mail creates the
deliveries.
"""
