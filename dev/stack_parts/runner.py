"""The demo's runner. It executes the steps of acme's pipelines as processes of this machine. Omitted if it cannot be built."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

from . import daemon
from .home import CHECKOUT, write_private
from .process import Part
from .console import StackError, print_progress, warn
from .web import call

NAME = "dev-stack"
PROGRAMS = ("greenroom-runner", "greenroom-entry")
PACKAGES = ("runner", "entry")


def programs(binary, release):
    """Returns the paths of runner and entrypoint, built or next to the given greenroomd; None if there are none."""
    folder = Path(os.environ.get("GREENROOM_RUNNER", binary)).resolve().parent
    given = "GREENROOMD" in os.environ or "GREENROOM_RUNNER" in os.environ
    if not given and all((CHECKOUT / "crates" / name / "Cargo.toml").exists() for name in PACKAGES):
        cargo = shutil.which("cargo") or shutil.which("cargo", path=str(Path.home() / ".cargo" / "bin"))
        command = [cargo, "build", "--quiet", *(["--release"] if release else [])]
        for program in PROGRAMS:
            command += ["--package", program]
        print_progress("build", " ".join(["cargo", *command[1:]]))
        if subprocess.run(command, cwd=CHECKOUT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).returncode != 0:
            raise StackError("the runner does not build; cargo's output is above", "fix that, then run this again")
    found = [folder / name for name in PROGRAMS]
    if all(os.access(path, os.X_OK) for path in found):
        return found
    warn(f"no {' and '.join(PROGRAMS)} beside {binary}: the demo's deployments will wait for a runner")
    return None


class DemoRunner:
    """The demo's runner in the API, accessed as acme's owner."""

    def __init__(self, home, seeding):
        self.home, self.saved, self.save = home, seeding.saved, seeding.save
        self.base = f"{daemon.api_origin(home)}/api/v1/organizations/acme/runners"
        self.owner = seeding.saved["tokens"]["owner"]

    def record(self):
        status, response = call("GET", self.base, self.owner)
        runners = response["data"] if status == 200 else []
        return next((runner for runner in runners if runner["id"] == self.saved.get("runnerId")), None)

    def token(self):
        """Returns a token, created through the API and stored as long as it is valid; None if the server refuses to create one."""
        if "runnerToken" not in self.saved or not self.record():
            status, response = call("POST", self.base, self.owner, {"name": NAME})
            if status != 201:
                warn(f"the server returned {status} for a new runner: the demo has no runner")
                return None
            self.saved["runnerId"], self.saved["runnerToken"] = response["data"]["id"], response["data"]["token"]
            self.save()
        return self.saved["runnerToken"]

    def has_been_seen(self):
        record = self.record()
        return bool(record and record["lastSeenAt"])


def part(home, paths, seeding):
    """Returns the runner as a process of the stack, or None."""
    demo_runner = DemoRunner(home, seeding)
    token = demo_runner.token()
    if not token:
        return None
    folder = home.folder / "runner"
    folder.mkdir(mode=0o700, exist_ok=True)
    write_private(folder / "token", token)
    runner, entry = paths
    argv = [str(runner), "--url", f"{daemon.api_origin(home)}/api/v1", "--token-file", str(folder / "token")]
    argv += ["--backend", "process", "--concurrency", "4", "--work-dir", str(folder / "work"), "--entry", str(entry)]
    argv += ["--name", NAME, "--drain-seconds", "5"]
    passed_on = ("GREENROOM_OTLP_ENDPOINT",)
    env = {key: value for key, value in os.environ.items() if key in passed_on or not key.startswith("GREENROOM")}
    # The runner does not listen: this is the address of the server that it polls.
    where = f"127.0.0.1:{home.port('server')}"
    stop_by = ((signal.SIGTERM, 25), (signal.SIGKILL, 10))
    return Part(name="runner", argv=argv, env=env, where=where, healthy=demo_runner.has_been_seen, stop_by=stop_by)
