#!/usr/bin/env python3
"""Serves git repositories by HTTP, read-only: the demo's step registries.

  dev/demo/serve_git.py --port N --folder DIR

DIR/NAME.git is at http://127.0.0.1:N/NAME.git. git's own program http-backend answers; it is started for each request. To publish
something, push to the folder.
"""

import argparse
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

MAX_REQUEST_BYTES = 16 * 1024 * 1024
DEADLINE_SECONDS = 60


class Handler(BaseHTTPRequestHandler):
    folder = ""

    def do_GET(self):
        if self.path == "/readyz":
            return self.respond(200, {"Content-Type": "text/plain"}, b"ready\n")
        self.run(b"")

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        if not 0 <= length <= MAX_REQUEST_BYTES:
            return self.respond(413, {"Content-Type": "text/plain"}, b"the request is too large\n")
        self.run(self.rfile.read(length))

    def run(self, body):
        """Runs http-backend as a CGI program."""
        url = urlsplit(self.path)
        variables = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": self.folder,
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REQUEST_METHOD": self.command,
            "PATH_INFO": url.path,
            "QUERY_STRING": url.query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
        }
        # Without a user, http-backend does not accept a push.
        command = ["git", "-c", "safe.directory=*", "http-backend"]
        ran = subprocess.run(command, env=variables, input=body, stdout=subprocess.PIPE, timeout=DEADLINE_SECONDS, check=False)
        head, _, content = ran.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode("latin-1").split("\r\n") if ": " in line)
        status = int(headers.pop("Status", "200" if head else "500").split()[0])
        self.respond(status, headers, content)

    def respond(self, status, headers, body):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Requests are of no interest."""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--folder", required=True)
    options = parser.parse_args()
    Handler.folder = options.folder
    ThreadingHTTPServer(("127.0.0.1", options.port), Handler).serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
