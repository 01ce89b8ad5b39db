"""Defines the error that commands show as one line, and the error's text for a failed TLS connection."""

import os
from pathlib import Path
from ssl import SSLCertVerificationError
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from botocore.exceptions import SSLError


class LocalError(Exception):
    """Stops a command or a local server that cannot continue. The text is one line that says how to solve the
    problem."""


def explain_tls(endpoint: str, error: Exception, variable: str = "SSL_CERT_FILE") -> str:
    """Returns the text for an error of urllib3 if TLS to a service failed. `variable` is the environment variable that
    names the file of trusted certificate authorities."""
    cause = error.args[0] if error.args else error
    if isinstance(cause, SSLCertVerificationError):
        return (
            f"the certificate of {endpoint} is not trusted: {cause.verify_message}. Set {variable} to a file with "
            "your authority's certificates"
        )
    return f"no TLS connection to {endpoint} is possible: {cause}. A service without TLS has an address with http://"


def explain_tls_of_boto3(endpoint: str, error: "SSLError") -> str:
    """Returns the text for an error of boto3 if TLS to an endpoint failed."""
    variable = "SSL_CERT_FILE" if "AWS_CA_BUNDLE" not in os.environ and "://" in endpoint else "AWS_CA_BUNDLE"
    return explain_tls(endpoint, error.kwargs["error"], variable)


def find_authorities() -> str | None:
    """Returns the file of trusted certificate authorities in SSL_CERT_FILE, which boto3 does not read. Returns None if
    AWS_CA_BUNDLE is set, because boto3 reads AWS_CA_BUNDLE."""
    file = os.environ.get("SSL_CERT_FILE")
    return file if file and "AWS_CA_BUNDLE" not in os.environ and Path(file).is_file() else None
