"""A stack's folder, .stack/<name>: state, lock, ports. Everything of a stack is in it, except the folders that state.json names."""

import contextlib
import fcntl
import json
import os
import random
import re
import shutil
import socket
from pathlib import Path

from .console import StackError, print_progress

CHECKOUT = Path(__file__).resolve().parent.parent.parent
STACKS = CHECKOUT / ".stack"
TOOLS = STACKS / ".tools"
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
# Below the range that systems hand out for outgoing connections, so that a stopped stack finds its ports free again.
PORTS = range(20000, 32000)


def write_private(path, text):
    """Writes a file atomically and readable by its owner only: these files contain passwords and tokens."""
    fresh = path.with_name(path.name + ".new")
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    fresh.replace(path)


def acquire(file, waiting_for):
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print_progress("lock", f"waiting for {waiting_for}")
        fcntl.flock(file, fcntl.LOCK_EX)


@contextlib.contextmanager
def lock(name, waiting_for):
    """Allows one command at a time. The kernel releases the lock when the process ends; the last holder removes the file."""
    folder = STACKS / ".locks"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    while True:
        with open(path, "w") as file:
            acquire(file, waiting_for)
            # If the previous holder removed the file while we waited, our lock is on a deleted file: try again.
            if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                try:
                    yield
                finally:
                    path.unlink()
                return


def port_is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


class Home:
    def __init__(self, name):
        if not NAME.fullmatch(name):
            raise StackError(f"{name!r} is not a valid name for a stack", "use at most 40 lowercase letters, digits, - and _")
        self.name, self.folder = name, STACKS / name
        self.state_file, self.demo_file = self.folder / "state.json", self.folder / "demo.json"
        self.again = "dev/stack up" + self.flag
        self.state = {}
        self.load()

    @property
    def flag(self):
        return "" if self.name == "default" else f" --name {self.name}"

    @property
    def exists(self):
        return self.state_file.exists()

    def load(self):
        if self.folder.exists() and self.folder.stat().st_uid != os.geteuid():
            raise StackError(f"the stack {self.name} belongs to another user", "run this as that user, or use another --name")
        try:
            self.state = json.loads(self.state_file.read_text())
        except FileNotFoundError:
            self.state = {}
        except ValueError:
            raise StackError(
                f"{self.state_file} is damaged", f"dev/stack reset{self.flag}, which removes this stack's data"
            ) from None
        for key in ("ports", "processes", "postgres"):
            self.state.setdefault(key, {})

    def locked(self):
        return lock(self.name, f"another command on the stack {self.name}")

    def create(self):
        """Creates the folders, which others may enter: PostgreSQL may run as another user. Files are private."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "logs").mkdir(exist_ok=True)
        self.save()

    def save(self):
        write_private(self.state_file, json.dumps(self.state, indent=2) + "\n")

    def log(self, part):
        return self.folder / "logs" / f"{part}.log"

    def port(self, key):
        return self.state["ports"][key]

    def assign_ports(self, *keys):
        """Assigns the ports of a part that is about to start: those of its last run, unless another process uses one now."""
        ports = self.state["ports"]
        for key in keys:
            if key in ports and not port_is_free(ports[key]):
                print_progress(key.split(".")[0], f"port {ports[key]} is used by another process, choosing a new one")
                del ports[key]
            if key not in ports:
                ports[key] = self.choose_port()
        self.save()

    def choose_port(self):
        reserved = set(self.state["ports"].values())
        for other in STACKS.glob("*/state.json"):
            with contextlib.suppress(OSError, ValueError):
                reserved.update(json.loads(other.read_text()).get("ports", {}).values())
        for port in random.sample(PORTS, len(PORTS)):
            if port not in reserved and port_is_free(port):
                return port
        raise StackError(f"no free port between {PORTS.start} and {PORTS.stop}", "stop what uses them: dev/stack down --name …")

    def remove(self):
        for folder in (self.state["postgres"].get("folder"), self.folder):
            if folder and Path(folder).exists():
                shutil.rmtree(folder)
