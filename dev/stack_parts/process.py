"""Processes that outlive the script: started, recognised, watched and stopped, each by its own pid and start time."""

import contextlib
import hashlib
import json
import os
import platform
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

from .talk import Trouble, say

TAIL = 25
ROTATE_AT = 20_000_000


@dataclass
class Part:
    """One process of the stack, as it should run."""

    name: str
    argv: list
    env: dict
    where: str
    healthy: Callable[[], bool]
    deadline: float = 60
    stop_by: tuple = ((signal.SIGTERM, 20), (signal.SIGKILL, 10))
    # A start that failed for a reason that passes by itself (told from the log) is tried again until the deadline.
    passing: Callable[[str], bool] = field(default=lambda log: False)
    fresh: bool = False

    @property
    def signature(self):
        """What it was started as: program file, arguments, and our variables. A change of any is a reason to restart."""
        program = os.stat(self.argv[0])
        ours = {key: value for key, value in self.env.items() if key.startswith("GREENROOM_")}
        seen = json.dumps([self.argv, ours, program.st_mtime_ns, program.st_size], sort_keys=True)
        return hashlib.sha256(seen.encode()).hexdigest()


def identity(pid):
    """Tells this process from a later one with the same pid; None if it is gone (a zombie is gone)."""
    if platform.system() == "Linux":
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return None if fields[0] in "ZX" else f"{boot}/{fields[19]}"
    seen = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True).stdout.split(None, 1)
    return None if len(seen) < 2 or seen[0].startswith("Z") else seen[1].strip()


def alive(record):
    return bool(record) and record["identity"] is not None and identity(record["pid"]) == record["identity"]


def recorded(home, name):
    record = home.state["processes"].get(name)
    return record if alive(record) else None


def tail(home, name, lines=TAIL):
    """The end of a part's log, no further back than its last start."""
    with contextlib.suppress(OSError):
        since = home.state["processes"].get(name, {}).get("logFrom", 0)
        with open(home.log(name), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(since if since <= size else 0, size - 64_000))
            return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])
    return ""


def spawn(home, part):
    part.fresh = True
    log = home.log(part.name)
    if log.exists() and log.stat().st_size > ROTATE_AT:
        log.replace(log.with_suffix(".log.1"))
    with open(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as out:
        began = os.fstat(out.fileno()).st_size
        # A session of its own: neither Ctrl-C nor the terminal's end reaches it.
        child = subprocess.Popen(
            part.argv, env=part.env, cwd=home.folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
    home.state["processes"][part.name] = {
        "pid": child.pid,
        "identity": identity(child.pid),
        "signature": part.signature,
        "program": str(part.argv[0]),
        "where": part.where,
        "logFrom": began,
        "startedAt": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "stopBy": [[int(number), wait] for number, wait in part.stop_by],
    }
    home.save()


def ready(part, within):
    end = time.monotonic() + within
    while not part.healthy():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def keep_or_stop(home, part):
    """True if it runs as it should already. One that runs but is outdated or ill is stopped, so that it can be started anew."""
    record = recorded(home, part.name)
    if not record:
        return False
    if record["signature"] != part.signature:
        why = "was started from another build or with other settings"
    elif not ready(part, 10):
        why = "runs but does not answer"
    else:
        say(part.name, f"runs already on {part.where}")
        return True
    say(part.name, f"{why}: restarting")
    stop(home, [part.name])
    return False


def start(home, part):
    """Starts it unless it runs; whether it got ready is asked by `await_ready`, so that several can start at once."""
    if not keep_or_stop(home, part):
        say(part.name, f"starting on {part.where}")
        spawn(home, part)


def await_ready(home, part):
    began = time.monotonic()
    look = f"the whole log: dev/stack logs {part.name}{home.flag}"
    # Alive is asked too: somebody else may answer on a port that ours failed to get.
    while not (recorded(home, part.name) and part.healthy()):
        late = time.monotonic() - began > part.deadline
        if not recorded(home, part.name):
            log = tail(home, part.name)
            if late or not part.passing(log):
                raise Trouble(
                    f"{part.name} ended while starting; its last lines are above",
                    f"mend what they say, then {home.again}; {look}",
                    log,
                )
            time.sleep(0.5)
            spawn(home, part)
        elif late:
            log = tail(home, part.name)
            raise Trouble(
                f"{part.name} was not ready on {part.where} after {part.deadline:.0f} s", f"{look}; then {home.again}", log
            )
        time.sleep(0.05)
    if part.fresh:
        say(part.name, "ready")


def stop(home, names):
    """Asks all at once, then waits, and presses harder where a deadline passes.

    Each signal goes to a pid whose identity was checked just before.
    """
    waiting = {name: record for name in names if (record := recorded(home, name))}
    began = time.monotonic()
    asked = dict.fromkeys(waiting, 0)
    while waiting:
        for name, record in list(waiting.items()):
            if not alive(record):
                say(name, "stopped")
                del waiting[name]
                continue
            steps, elapsed = record["stopBy"], time.monotonic() - began
            due = sum(1 for index in range(len(steps)) if elapsed >= sum(wait for _, wait in steps[:index]))
            if due > asked[name]:
                asked[name] = due
                if due > 1:
                    say(name, f"did not end, sending {signal.Signals(steps[due - 1][0]).name}")
                with contextlib.suppress(ProcessLookupError):
                    os.kill(record["pid"], steps[due - 1][0])
                    # A paused process hears nothing but SIGKILL until it goes on.
                    os.kill(record["pid"], signal.SIGCONT)
            elif elapsed > sum(wait for _, wait in steps):
                raise Trouble(
                    f"{name} (pid {record['pid']}) does not end, even by SIGKILL",
                    "look at it with ps: it may hang in the kernel",
                )
        time.sleep(0.02)
    for name in names:
        home.state["processes"].pop(name, None)
    if names:
        home.save()
