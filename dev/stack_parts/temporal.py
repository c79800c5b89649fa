"""Temporal's development server, on a file in the stack's folder."""

import os

from .process import Part, recorded
from .web import answers

# Without these three each dispatch waits for a 50 ms tick.
DYNAMIC = (
    "history.transferProcessorMaxPollRPS=1000",
    "history.timerProcessorMaxPollRPS=1000",
    "history.visibilityProcessorMaxPollRPS=200",
)


def address(home):
    return f"127.0.0.1:{home.port('temporal')}"


def healthy(home):
    """Its HTTP door asks the same frontend that gRPC does, and the namespace is made last."""
    return answers(f"http://127.0.0.1:{home.port('temporal.http')}/api/v1/namespaces/default")


def part(home, program):
    folder = home.folder / "temporal"
    folder.mkdir(mode=0o700, exist_ok=True)
    if not recorded(home, "temporal"):
        home.settle_ports("temporal", "temporal.metrics", "temporal.http")
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
    for value in DYNAMIC:
        argv += ["--dynamic-config-value", value]
    return Part(name="temporal", argv=argv, env=dict(os.environ), where=address(home), healthy=lambda: healthy(home))
