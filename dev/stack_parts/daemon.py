"""Builds and migrates greenroomd and runs it as API servers and a worker."""

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path

from . import postgres, temporal
from .home import CHECKOUT, write_private
from .process import Part, recorded
from .console import StackError, print_progress, warn
from .web import is_ok


def build(release):
    """Returns the path of the program. It is read from cargo's messages, so that every way to set a target folder works."""
    given = os.environ.get("GREENROOMD")
    if given:
        if not os.access(given, os.X_OK):
            raise StackError(f"GREENROOMD={given} is not a program", "give the path of a greenroomd, or unset it to build one")
        return os.path.abspath(given)
    cargo = shutil.which("cargo") or shutil.which("cargo", path=str(Path.home() / ".cargo" / "bin"))
    if not cargo:
        hint = "install Rust from https://rustup.rs, or give a built one: GREENROOMD=/path/to/greenroomd dev/stack up"
        raise StackError("cargo was not found, so greenroomd cannot be built", hint)
    build_dashboard(cargo)
    arguments = ["build", "--package", "greenroom-server", *(["--release"] if release else [])]
    print_progress("build", f"cargo {' '.join(arguments)}")
    command = [cargo, *arguments, "--message-format=json-render-diagnostics"]
    built = subprocess.run(command, cwd=CHECKOUT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    if built.returncode != 0:
        raise StackError(
            "greenroomd does not build; cargo's output is above",
            "fix that, then run this again; what has started keeps running",
        )
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and message["target"]["name"] == "greenroomd" and message["executable"]:
            return message["executable"]
    raise StackError("cargo built the package greenroom-server, but no program greenroomd", "check crates/server/Cargo.toml")


def build_dashboard(cargo):
    """Builds the dashboard, which becomes part of greenroomd, if its sources are newer than the last build. A server without
    it works too, so that a machine that can't install Node only gets a warning."""
    folder = CHECKOUT / "dashboard"
    built = folder / "dist" / "site" / "index.html"
    sources = [folder / "package-lock.json", folder / "index.html", folder / "vite.config.ts"]
    sources += [path for name in ("src", "public") for path in (folder / name).rglob("*") if path.is_file()]
    if built.exists() and all(path.stat().st_mtime <= built.stat().st_mtime for path in sources):
        return
    print_progress("dashboard", "cargo xtask ui build")
    command = [cargo, "xtask", "ui", "build"]
    done = subprocess.run(command, cwd=CHECKOUT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        warn("the dashboard was not built; the server starts with what was built before, or without it:")
        for line in done.stdout.splitlines()[-10:]:
            warn(line)


def environment(home):
    """Returns the variables of every greenroomd of this stack. The user's own GREENROOM_… are passed on, except those that
    locate the stack."""
    return {
        "GREENROOM_LOG": "info",
        "GREENROOM_LOG_FORMAT": "text",
        "GREENROOM_OBJECTS": f"file://{home.folder / 'objects'}",
        # Step registries and token issuers of the demo are on this machine, at ports that are not known yet.
        "GREENROOM_OUTBOUND_ALLOW": "registry=127.0.0.0/8,issuer=127.0.0.0/8",
        **secrets_key(home),
        **os.environ,
        "GREENROOM_DATABASE_URL": postgres.url(home),
        "GREENROOM_TEMPORAL_ADDRESS": temporal.address(home),
        "TMPDIR": temporary_folder(home),
    }


def temporary_folder(home):
    """Returns a folder that exists as long as the stack: that of the user's shell may be removed before."""
    folder = home.folder / "tmp"
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder)


def secrets_key(home):
    """Returns the setting of the master key of secrets, in a file that only this user can read. It is made once: without it
    the secrets of the stack can't be opened."""
    if "GREENROOM_SECRETS_KEY_COMMAND" in os.environ:
        return {}
    path = home.folder / "secrets.key"
    if not path.exists():
        write_private(path, f"stack:{base64.b64encode(os.urandom(32)).decode()}\n")
    return {"GREENROOM_SECRETS_KEY_FILE": str(path)}


def run(home, binary, *arguments):
    """Runs one of greenroomd's short commands to its end."""
    return subprocess.run([binary, *arguments], env=environment(home), stdin=subprocess.DEVNULL, capture_output=True, text=True)


def migrate(home, binary):
    result = run(home, binary, "migrate", "up")
    if result.returncode != 0:
        hint = f"if this database was created by another branch: dev/stack reset{home.flag}, then {home.again}"
        raise StackError("greenroomd migrate up failed; its output is above", hint, result.stdout + result.stderr)


def server_names(count):
    return ["server"] + [f"server-{number}" for number in range(2, count + 1)]


def api_origin(home, name="server"):
    return f"http://127.0.0.1:{home.port(name)}"


def metrics_url(home, name="server"):
    return f"http://127.0.0.1:{home.port(f'{name}.metrics')}/metrics"


def process(home, binary, name, role, ports, ready_port):
    if not recorded(home, name):
        home.assign_ports(*ports)
    env = environment(home)
    env["GREENROOM_METRICS_LISTEN"] = f"127.0.0.1:{home.port(f'{name}.metrics')}"
    if role == "serve":
        env["GREENROOM_LISTEN"] = f"127.0.0.1:{home.port(name)}"
    where = f"127.0.0.1:{home.port(ready_port)}"
    return Part(name=name, argv=[binary, role], env=env, where=where, healthy=lambda: is_ok(f"http://{where}/readyz"))


def server(home, binary, name):
    return process(home, binary, name, "serve", (name, f"{name}.metrics"), name)


def worker(home, binary):
    return process(home, binary, "worker", "worker", ("worker.metrics",), "worker.metrics")
