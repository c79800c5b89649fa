#!/usr/bin/env python3
"""Checks the demo's site: what its pages show, and what it has received.

  dev/stack up --demo --json > stack.json; dev/demo/check_site.py stack.json

1. Every environment's url leads to the site. Where a commit is deployed, the page there shows it.
2. A browser that has cookies of the dashboard's host follows a link to a page of the site. This is left out without chromium.
3. None of all requests that the site has received since it was created contains a cookie, credentials or a token. So run this after
   other tests with a browser, too.

Exit codes: 0 everything holds; 1 something does not, and is printed; 2 wrong usage.
"""

import contextlib
import json
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from stack_parts.web import call  # noqa: E402

CREDENTIAL_HEADERS = ("cookie", "authorization", "proxy-authorization")
COOKIE = "check-site-cookie"
# Like the dashboard's own, and the least restricted that exists. Browsers keep `Secure` cookies of http://127.0.0.1.
COOKIES = (f"__Host-greenroom={COOKIE}; Path=/; Secure; HttpOnly; SameSite=Strict", f"plain={COOKIE}; Path=/")
FAILED = []


def check(what, is_true, seen=""):
    print(f"{'ok  ' if is_true else 'FAIL'}  {what}" + ("" if is_true else f": {seen}"), flush=True)
    if not is_true:
        FAILED.append(what)


def check_pages(stack):
    """Returns the address of a page that shows a commit."""
    found = None
    organization = f"{stack['baseUrl']}/organizations/{stack['orgId']}"
    pipelines = call("GET", f"{organization}/pipelines?limit=100", stack["token"])[1]["data"]
    for pipeline in pipelines:
        environments = call("GET", f"{organization}/pipelines/{pipeline['id']}/ephemeral-environments", stack["token"])[1]["data"]
        for environment in environments:
            name = f"{pipeline['slug']}/{environment['envName']}"
            url, deployed = environment["url"] or "", environment["deployed"]
            check(f"{name} is on the site", url.startswith(stack["siteUrl"]), url)
            if deployed:
                status, page = call("GET", url)
                check(f"{name} shows {deployed['commitId'][:7]}", status == 200 and deployed["commitId"] in page, status)
                found = url
    check("a commit is deployed in the demo", found)
    return found


class Host(ThreadingHTTPServer):
    """Another port of the dashboard's host. Sets the cookies, records those that it receives, and leads to the next address."""

    def __init__(self, next_address):
        super().__init__(("127.0.0.1", 0), HostHandler)
        self.next_address, self.received = next_address, []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}/"

    def handle_error(self, *_):
        """Ignored: the browser ends connections when it follows a link."""


class HostHandler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.received.append(self.headers.get("Cookie", ""))
        following = self.server.next_address
        page = f'<meta http-equiv="refresh" content="0; url={following}"><img src="{following}"><iframe src="{following}"></iframe>'
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        for cookie in COOKIES:
            self.send_header("Set-Cookie", cookie)
        self.end_headers()
        self.wfile.write(page.encode())

    def log_message(self, *_):
        """Nothing: the result is printed at the end."""


def check_in_browser(page):
    """A browser gets cookies at one port of 127.0.0.1, is led to another port of it, and from there to the site. Returns the path
    that it requested from the site, or None without a browser."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if not browser:
        print("--    left out: there is no chromium on this machine", flush=True)
        return None
    page += f"?check={secrets.token_hex(8)}"
    second = Host(page)
    first = Host(second.address)
    profile = tempfile.mkdtemp(prefix="greenroom-check-site-")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--no-proxy-server"]
    command += [f"--user-data-dir={profile}", "--virtual-time-budget=4000", "--dump-dom", first.address]
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    shutil.rmtree(profile, ignore_errors=True)
    names = ("__Host-greenroom=", "plain=")
    # Without this the check would prove nothing: the browser has the cookies, and sends them to any port of that host.
    has_both = any(all(name in cookie for name in names) for cookie in second.received)
    check("the browser sends the cookies to another port of 127.0.0.1", has_both, second.received)
    return page[page.index("/", len("http://")) :]


def check_requests(stack, expected_path):
    lines = Path(stack["siteRequests"]).read_text().splitlines()
    requests = [json.loads(line) for line in lines]
    by_browser = [request for request in requests if "Chrom" in dict(request["headers"]).get("User-Agent", "")]
    if expected_path:
        check("the browser opened the page", any(request["path"] == expected_path for request in by_browser), expected_path)
    credentials, tokens = [], []
    for request in requests:
        credentials += [name for name, _ in request["headers"] if name.lower() in CREDENTIAL_HEADERS]
        text = json.dumps(request)
        tokens += [secret for secret in ("grn_", "grr_", COOKIE, "__Host-greenroom") if secret in text]
    what = f"{len(requests)} requests, {len(by_browser)} of a browser"
    check(f"no cookie and no credentials in {what}", not credentials, sorted(set(credentials)))
    check(f"no token in {what}", not tokens, sorted(set(tokens)))


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    stack = json.loads(Path(sys.argv[1]).read_text())
    check("the site is linked as localhost", urlsplit(stack["siteUrl"]).hostname == "localhost", stack["siteUrl"])
    check("the dashboard is linked as 127.0.0.1", urlsplit(stack["dashboardUrl"]).hostname == "127.0.0.1", stack["dashboardUrl"])
    page = check_pages(stack)
    if page:
        check_requests(stack, check_in_browser(page))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
