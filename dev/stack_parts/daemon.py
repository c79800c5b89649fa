"""greenroomd: built, migrated, and run as API servers and a worker."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from . import postgres, temporal
from .home import CHECKOUT
from .process import Part, recorded
from .talk import Trouble, say
from .web import answers


def build(release):
    """Path of the program. Cargo itself says where it put it, so that target folders set in any way are respected."""
    given = os.environ.get("GREENROOMD")
    if given:
        if not os.access(given, os.X_OK):
            raise Trouble(f"GREENROOMD={given} is no program", "give the path of a greenroomd, or unset it to build one")
        return os.path.abspath(given)
    cargo = shutil.which("cargo") or shutil.which("cargo", path=str(Path.home() / ".cargo" / "bin"))
    if not cargo:
        then = "install Rust from https://rustup.rs, or give a built one: GREENROOMD=/path/to/greenroomd dev/stack up"
        raise Trouble("no cargo here, so greenroomd can't be built", then)
    words = ["build", "--package", "greenroom-server", *(["--release"] if release else [])]
    say("build", f"cargo {' '.join(words)}")
    words = [cargo, *words, "--message-format=json-render-diagnostics"]
    built = subprocess.run(words, cwd=CHECKOUT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    if built.returncode != 0:
        raise Trouble(
            "greenroomd does not build; cargo's words are above",
            "mend that, then run this again; what has started keeps running",
        )
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and message["target"]["name"] == "greenroomd" and message["executable"]:
            return message["executable"]
    raise Trouble("cargo built the package greenroom-server, but no program greenroomd", "look into crates/server/Cargo.toml")


def environment(home):
    """What every greenroomd of this stack gets. The user's own GREENROOM_… pass, except those that locate the stack."""
    return {
        "GREENROOM_LOG": "info",
        "GREENROOM_LOG_FORMAT": "text",
        "GREENROOM_OBJECTS": f"file://{home.folder / 'objects'}",
        **os.environ,
        "GREENROOM_DATABASE_URL": postgres.url(home),
        "GREENROOM_TEMPORAL_ADDRESS": temporal.address(home),
    }


def run(home, binary, *words):
    """One of its short commands, to its end."""
    return subprocess.run([binary, *words], env=environment(home), stdin=subprocess.DEVNULL, capture_output=True, text=True)


def migrate(home, binary):
    seen = run(home, binary, "migrate", "up")
    if seen.returncode != 0:
        then = f"if this database was made by another branch: dev/stack reset{home.flag}, then {home.again}"
        raise Trouble("greenroomd migrate up failed; its words are above", then, seen.stdout + seen.stderr)


def server_names(count):
    return ["server"] + [f"server-{number}" for number in range(2, count + 1)]


def api_origin(home, name="server"):
    return f"http://127.0.0.1:{home.port(name)}"


def metrics_url(home, name="server"):
    return f"http://127.0.0.1:{home.port(f'{name}.metrics')}/metrics"


def process(home, binary, name, role, ports, ready_port):
    if not recorded(home, name):
        home.settle_ports(*ports)
    env = environment(home)
    env["GREENROOM_METRICS_LISTEN"] = f"127.0.0.1:{home.port(f'{name}.metrics')}"
    if role == "serve":
        env["GREENROOM_LISTEN"] = f"127.0.0.1:{home.port(name)}"
    where = f"127.0.0.1:{home.port(ready_port)}"
    return Part(name=name, argv=[binary, role], env=env, where=where, healthy=lambda: answers(f"http://{where}/readyz"))


def server(home, binary, name):
    return process(home, binary, name, "serve", (name, f"{name}.metrics"), name)


def worker(home, binary):
    return process(home, binary, "worker", "worker", ("worker.metrics",), "worker.metrics")
