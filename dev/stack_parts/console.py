"""Messages to the user. All of them go to stderr: stdout is for data."""

import os
import sys
import time

STARTED_AT = time.monotonic()
USE_COLOR = sys.stderr.isatty() and not os.environ.get("NO_COLOR")


class StackError(Exception):
    """Ends the command with exit code 1. `hint` is what the user should do next, `log` is earlier output to print first."""

    def __init__(self, message, hint="", log=""):
        super().__init__(message)
        self.hint, self.log = hint, log


def paint(code, text):
    return f"\033[{code}m{text}\033[0m" if USE_COLOR else text


def print_progress(part, text):
    elapsed = time.monotonic() - STARTED_AT
    print(f"{paint('2', f'{elapsed:6.1f}s')}  {paint('36', f'{part:<10}')} {text}", file=sys.stderr, flush=True)


def warn(text):
    print(f"{paint('33', 'warning:')} {text}", file=sys.stderr, flush=True)


def print_error(error):
    if error.log:
        print(error.log.rstrip(), file=sys.stderr)
    print(f"{paint('31', 'error:')} {error}", file=sys.stderr)
    if error.hint:
        print(f"{paint('1', 'next:')}  {error.hint}", file=sys.stderr, flush=True)
