"""Temporal's development server with a database file in the stack's folder."""

import os

from .process import Part, recorded
from .web import is_ok

# Without these three each dispatch waits for a 50 ms tick.
DYNAMIC_CONFIG = (
    "history.transferProcessorMaxPollRPS=1000",
    "history.timerProcessorMaxPollRPS=1000",
    "history.visibilityProcessorMaxPollRPS=200",
)


def address(home):
    return f"127.0.0.1:{home.port('temporal')}"


def healthy(home):
    """HTTP uses the same frontend as gRPC, and the namespace is created last during start-up."""
    return is_ok(f"http://127.0.0.1:{home.port('temporal.http')}/api/v1/namespaces/default")


def part(home, program):
    folder = home.folder / "temporal"
    folder.mkdir(mode=0o700, exist_ok=True)
    if not recorded(home, "temporal"):
        home.assign_ports("temporal", "temporal.metrics", "temporal.http")
    argv = [str(program), "server", "start-dev", "--ip", "127.0.0.1", "--headless", "--log-level", "warn"]
    argv += [
        "--port",
        str(home.port("temporal")),
        "--metrics-port",
        str(home.port("temporal.metrics")),
        "--http-port",
        str(home.port("temporal.http")),
    ]
    argv += [
        "--db-filename",
        str(folder / "temporal.db"),
        "--sqlite-pragma",
        "journal_mode=wal",
        "--sqlite-pragma",
        "synchronous=normal",
    ]
    for value in DYNAMIC_CONFIG:
        argv += ["--dynamic-config-value", value]
    return Part(name="temporal", argv=argv, env=dict(os.environ), where=address(home), healthy=lambda: healthy(home))
