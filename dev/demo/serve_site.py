#!/usr/bin/env python3
"""Serves the pages that the demo's deployments publish, and records every request that it receives.

  dev/demo/serve_site.py --port N --folder DIR --requests FILE

DIR/PIPELINE/ENVIRONMENT/index.html is served at http://localhost:N/PIPELINE/ENVIRONMENT/. The program listens on 127.0.0.1, and
serves pages only under the name localhost: cookies ignore ports, so at http://127.0.0.1:N a browser would send it the dashboard's.
FILE gets one line of JSON per request: time, method, path, and all header fields. dev/demo/check_site.py checks them.
"""

import argparse
import html
import json
import os
import sys
import threading
import time
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from string import Template
from urllib.parse import unquote, urlsplit

MAX_RECORD_BYTES = 20_000_000
STYLE = (Path(__file__).resolve().parent / "page.css").read_text()
MESSAGE = Template("""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
$refresh<title>$title</title>
<style>$style</style>
<main class="empty">
<p class="shop">$where</p>
<h1>$title</h1>
<p>$text</p>
</main>
</html>
""")


class Recorder:
    """Appends requests to a file that only its owner can read: it may contain credentials that should not have been sent."""

    def __init__(self, path):
        self.file = open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a")
        self.lock, self.left = threading.Lock(), MAX_RECORD_BYTES - os.path.getsize(path)

    def record(self, handler):
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "method": handler.command,
            "path": handler.path,
            "headers": [[name, value] for name, value in handler.headers.items()],
        }
        text = json.dumps(line) + "\n"
        with self.lock:
            self.left -= len(text)
            if self.left > 0:
                self.file.write(text)
                self.file.flush()


class Handler(SimpleHTTPRequestHandler):
    recorder = None

    def do_GET(self):
        if self.path == "/readyz":
            return self.respond(200, "text/plain", "ready\n")
        self.recorder.record(self)
        host = self.headers.get("Host", "").partition(":")[0].lower()
        if host != "localhost":
            address = f"http://localhost:{self.server.server_port}{urlsplit(self.path).path}"
            return self.message(421, "Open this page as localhost", address)
        path = Path(self.translate_path(self.path))
        if path.is_dir():
            path = path / "index.html"
        if not path.is_file():
            return self.message(404, "Nothing is deployed here", "As soon as a commit is, this page shows it.", refresh=3)
        return super().do_GET()

    do_HEAD = do_GET

    def do_POST(self):
        self.recorder.record(self)
        self.message(405, "This site has only pages", "GET is the only method.")

    do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_POST

    def message(self, status, title, text, refresh=None):
        where = " / ".join(part for part in unquote(urlsplit(self.path).path).split("/") if part) or "localhost"
        again = f'<meta http-equiv="refresh" content="{refresh}">\n' if refresh else ""
        page = MESSAGE.substitute(
            style=STYLE, refresh=again, title=html.escape(title), text=html.escape(text), where=html.escape(where)
        )
        self.respond(status, "text/html; charset=utf-8", page)

    def respond(self, status, content_type, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def end_headers(self):
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def log_message(self, *_):
        """Requests are in the recorder's file."""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--requests", required=True)
    options = parser.parse_args()
    Handler.recorder = Recorder(options.requests)
    server = ThreadingHTTPServer(("127.0.0.1", options.port), lambda *given: Handler(*given, directory=options.folder))
    server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
