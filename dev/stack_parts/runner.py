"""A runner for the demo: it carries out what acme's pipelines say, as processes of this machine. Left out where there is none."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

from . import daemon
from .home import CHECKOUT, write_private
from .process import Part
from .talk import Trouble, say, warn
from .web import call

NAME = "dev-stack"
PROGRAMS = ("greenroom-runner", "greenroom-entry")
PACKAGES = ("runner", "entry")


def programs(binary, release):
    """Paths of runner and entrypoint: those beside a greenroomd that was given, or built; None if there are none to be had."""
    folder = Path(os.environ.get("GREENROOM_RUNNER", binary)).resolve().parent
    given = "GREENROOMD" in os.environ or "GREENROOM_RUNNER" in os.environ
    if not given and all((CHECKOUT / "crates" / name / "Cargo.toml").exists() for name in PACKAGES):
        cargo = shutil.which("cargo") or shutil.which("cargo", path=str(Path.home() / ".cargo" / "bin"))
        words = [cargo, "build", "--quiet", *(["--release"] if release else [])]
        for program in PROGRAMS:
            words += ["--package", program]
        say("build", " ".join(["cargo", *words[1:]]))
        if subprocess.run(words, cwd=CHECKOUT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).returncode != 0:
            raise Trouble("the runner does not build; cargo's words are above", "mend that, then run this again")
    found = [folder / name for name in PROGRAMS]
    if all(os.access(path, os.X_OK) for path in found):
        return found
    warn(f"no {' and '.join(PROGRAMS)} beside {binary}: the demo's deployments will wait for a runner")
    return None


class Demo:
    """The demo's runner as acme's owner sees it."""

    def __init__(self, home, seeding):
        self.home, self.kept, self.keep = home, seeding.kept, seeding.keep
        self.base = f"{daemon.api_origin(home)}/api/v1/organizations/acme/runners"
        self.owner = seeding.kept["tokens"]["owner"]

    def record(self):
        status, answer = call("GET", self.base, self.owner)
        listed = answer["data"] if status == 200 else []
        return next((runner for runner in listed if runner["id"] == self.kept.get("runnerId")), None)

    def token(self):
        """Made through the API; kept as long as it is good. None from a server that has no runners yet."""
        if "runnerToken" not in self.kept or not self.record():
            status, answer = call("POST", self.base, self.owner, {"name": NAME})
            if status != 201:
                warn(f"the server answers {status} to a new runner: the demo goes without one")
                return None
            self.kept["runnerId"], self.kept["runnerToken"] = answer["data"]["id"], answer["data"]["token"]
            self.keep()
        return self.kept["runnerToken"]

    def seen(self):
        record = self.record()
        return bool(record and record["lastSeenAt"])


def part(home, paths, seeding):
    """The runner as a process of the stack, or None."""
    demo = Demo(home, seeding)
    token = demo.token()
    if not token:
        return None
    folder = home.folder / "runner"
    folder.mkdir(mode=0o700, exist_ok=True)
    write_private(folder / "token", token)
    runner, entry = paths
    argv = [str(runner), "--url", f"{daemon.api_origin(home)}/api/v1", "--token-file", str(folder / "token")]
    argv += ["--backend", "process", "--concurrency", "2", "--work-dir", str(folder / "work"), "--entry", str(entry)]
    argv += ["--name", NAME, "--drain-seconds", "5"]
    env = {key: value for key, value in os.environ.items() if not key.startswith("GREENROOM")}
    # It listens nowhere: what it is asked for is the server it asks.
    where = f"127.0.0.1:{home.port('server')}"
    stop_by = ((signal.SIGTERM, 25), (signal.SIGKILL, 10))
    return Part(name="runner", argv=argv, env=env, where=where, healthy=demo.seen, stop_by=stop_by)
