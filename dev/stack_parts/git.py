"""The git server of the demo's step registries."""

import os
import sys

from .home import CHECKOUT
from .process import Part, recorded
from .web import is_ok

PROGRAM = CHECKOUT / "dev" / "demo" / "serve_git.py"


def origin(home):
    return f"http://127.0.0.1:{home.port('git')}"


def repositories(home):
    return home.folder / "git"


def part(home):
    """Returns the server as a process of the stack."""
    repositories(home).mkdir(parents=True, exist_ok=True)
    if not recorded(home, "git"):
        home.assign_ports("git")
    port = home.port("git")
    argv = [sys.executable, str(PROGRAM), "--port", str(port), "--folder", str(repositories(home))]
    env = {key: value for key, value in os.environ.items() if not key.startswith("GREENROOM")}
    where = f"127.0.0.1:{port}"
    return Part(name="git", argv=argv, env=env, where=where, healthy=lambda: is_ok(f"http://{where}/readyz"))
