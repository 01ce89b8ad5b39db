"""The error that commands show as one line, and its text for a failed TLS connection."""

import os
from pathlib import Path
from ssl import SSLCertVerificationError
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from botocore.exceptions import SSLError


class LocalError(Exception):
    """A command or a local server cannot go on. The error's text is one line with a remedy."""


def explain_tls(endpoint: str, error: Exception, variable: str = "SSL_CERT_FILE") -> str:
    """Returns the text for an error of urllib3 that says why TLS to a service failed. `variable` names the authorities'
    file."""
    cause = error.args[0] if error.args else error
    if isinstance(cause, SSLCertVerificationError):
        return (
            f"the certificate of {endpoint} is not trusted: {cause.verify_message}. Set {variable} to a file with "
            "your authority's certificates"
        )
    return f"no TLS connection to {endpoint} is possible: {cause}. A service without TLS has an address with http://"


def explain_tls_of_boto3(endpoint: str, error: "SSLError") -> str:
    """Returns the text for an error of boto3 that says why TLS to an endpoint failed."""
    variable = "SSL_CERT_FILE" if "AWS_CA_BUNDLE" not in os.environ and "://" in endpoint else "AWS_CA_BUNDLE"
    return explain_tls(endpoint, error.kwargs["error"], variable)


def find_authorities() -> str | None:
    """Returns the file that boto3 has to trust: SSL_CERT_FILE, which boto3 ignores. Returns None if AWS_CA_BUNDLE is
    set, because boto3 reads AWS_CA_BUNDLE."""
    file = os.environ.get("SSL_CERT_FILE")
    return file if file and "AWS_CA_BUNDLE" not in os.environ and Path(file).is_file() else None
