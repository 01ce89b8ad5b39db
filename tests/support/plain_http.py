"""Provides httpx for the services of tests, which use plain HTTP. Without this module, httpx would read the machine's
certificates for each client.

An answer may take a minute, because an overloaded machine must not fail a test. By default httpx waits five seconds.
"""

from functools import partial

import httpx

LONGEST_SECONDS = 60

get = partial(httpx.get, verify=False, timeout=LONGEST_SECONDS)
post = partial(httpx.post, verify=False, timeout=LONGEST_SECONDS)
request = partial(httpx.request, verify=False, timeout=LONGEST_SECONDS)
Client = partial(httpx.Client, verify=False, timeout=LONGEST_SECONDS)
AsyncClient = partial(httpx.AsyncClient, verify=False, timeout=LONGEST_SECONDS)
