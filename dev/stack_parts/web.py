"""HTTP requests to loopback without the user's proxy settings."""

import http.client
import json
import urllib.error
import urllib.request

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def call(method, url, token=None, body=None, timeout=10, headers=None):
    """Returns status and parsed JSON (or text) of a response, also of an error; status 0 if there is no response."""
    request = urllib.request.Request(url, method=method)
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    if body is not None:
        request.add_header("Content-Type", "application/json")
        request.data = json.dumps(body).encode()
    for name, value in (headers or {}).items():
        request.add_header(name, value)
    try:
        with OPENER.open(request, timeout=timeout) as response:
            status, raw = response.status, response.read()
    except urllib.error.HTTPError as error:
        status, raw = error.code, error.read()
    except (OSError, http.client.HTTPException) as error:
        return 0, str(error)
    try:
        return status, json.loads(raw)
    except ValueError:
        return status, raw.decode(errors="replace")


def is_ok(url):
    """Returns whether a GET returns 200 within two seconds."""
    return call("GET", url, timeout=2)[0] == 200
