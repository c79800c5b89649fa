"""The process that acts for the demo's people and programs while the stack runs (dev/demo/act_as_people.py)."""

import os
import sys

from . import daemon
from .home import CHECKOUT
from .process import Part

PROGRAM = CHECKOUT / "dev" / "demo" / "act_as_people.py"


def part(home):
    url = f"{daemon.api_origin(home)}/api/v1/organizations/acme"
    argv = [sys.executable, str(PROGRAM), "--url", url, "--demo", str(home.demo_file)]
    env = {key: value for key, value in os.environ.items() if not key.startswith("GREENROOM")}
    # The program does not listen: this is the address of the server that it sends requests to.
    where = f"127.0.0.1:{home.port('server')}"
    return Part(name="people", argv=argv, env=env, where=where, healthy=lambda: True)
