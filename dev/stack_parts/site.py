"""The site that the demo's deployments publish pages on. It is linked as http://localhost:PORT, the dashboard as
http://127.0.0.1:PORT: cookies ignore ports, so only different names keep the dashboard's cookies from it."""

import os
import sys

from .home import CHECKOUT
from .process import Part, recorded
from .web import is_ok

PROGRAM = CHECKOUT / "dev" / "demo" / "serve_site.py"
STEPS = CHECKOUT / "dev" / "demo" / "steps"


def origin(home):
    return f"http://localhost:{home.port('site')}"


def pages(home):
    return home.folder / "site" / "pages"


def requests_file(home):
    return home.folder / "site" / "requests.jsonl"


def part(home):
    """Returns the site as a process of the stack. Assigns its port, which the demo's definitions contain."""
    pages(home).mkdir(parents=True, exist_ok=True)
    if not recorded(home, "site"):
        home.assign_ports("site")
    port = home.port("site")
    argv = [sys.executable, str(PROGRAM), "--port", str(port), "--folder", str(pages(home)), "--requests", str(requests_file(home))]
    env = {key: value for key, value in os.environ.items() if not key.startswith("GREENROOM")}
    where = f"127.0.0.1:{port}"
    return Part(name="site", argv=argv, env=env, where=where, healthy=lambda: is_ok(f"http://{where}/readyz"))
