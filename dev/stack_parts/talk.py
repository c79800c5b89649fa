"""What the script says to people. All of it goes to stderr: stdout is data."""

import os
import sys
import time

BEGAN = time.monotonic()
COLOURS = sys.stderr.isatty() and not os.environ.get("NO_COLOR")


class Trouble(Exception):
    """Ends the command with exit code 1. `then` tells the reader what to do next, `log` shows what was said before."""

    def __init__(self, what, then="", log=""):
        super().__init__(what)
        self.then, self.log = then, log


def paint(code, text):
    return f"\033[{code}m{text}\033[0m" if COLOURS else text


def say(part, text):
    print(
        f"{paint('2', f'{time.monotonic() - BEGAN:6.1f}s')}  {paint('36', f'{part:<10}')} {text}", file=sys.stderr, flush=True
    )


def warn(text):
    print(f"{paint('33', 'warning:')} {text}", file=sys.stderr, flush=True)


def lament(trouble):
    if trouble.log:
        print(trouble.log.rstrip(), file=sys.stderr)
    print(f"{paint('31', 'error:')} {trouble}", file=sys.stderr)
    if trouble.then:
        print(f"{paint('1', 'next:')}  {trouble.then}", file=sys.stderr, flush=True)
