"""Starts, identifies, watches and stops processes that outlive the script, each by its pid and start time."""

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

from .console import StackError, print_progress

TAIL_LINES = 25
MAX_LOG_BYTES = 20_000_000


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
    # Whether the log shows a transient failure: such a start is retried until the deadline.
    is_transient: Callable[[str], bool] = field(default=lambda log: False)
    fresh: bool = False

    @property
    def signature(self):
        """Hash of program file, arguments and GREENROOM_ variables. The process is restarted if it changes."""
        # The second word is the program if the first one is its interpreter.
        programs = [os.stat(word) for word in self.argv[:2] if os.path.isfile(word)]
        ours = {key: value for key, value in self.env.items() if key.startswith("GREENROOM_")}
        text = json.dumps([self.argv, ours, [[file.st_mtime_ns, file.st_size] for file in programs]], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def identity(pid):
    """Returns what distinguishes this process from a later one with the same pid; None if it ended (also if it is a zombie)."""
    if platform.system() == "Linux":
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return None if fields[0] in "ZX" else f"{boot}/{fields[19]}"
    output = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True).stdout.split(None, 1)
    return None if len(output) < 2 or output[0].startswith("Z") else output[1].strip()


def alive(record):
    return bool(record) and record["identity"] is not None and identity(record["pid"]) == record["identity"]


def recorded(home, name):
    record = home.state["processes"].get(name)
    return record if alive(record) else None


def tail(home, name, lines=TAIL_LINES):
    """Returns the end of a part's log since its last start."""
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
    if log.exists() and log.stat().st_size > MAX_LOG_BYTES:
        log.replace(log.with_suffix(".log.1"))
    with open(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as out:
        began = os.fstat(out.fileno()).st_size
        # A separate session, so that neither Ctrl-C nor closing the terminal ends the process.
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
    """Returns True if the part already runs as configured. An outdated or unhealthy process is stopped so that it can be
    started again."""
    record = recorded(home, part.name)
    if not record:
        return False
    if record["signature"] != part.signature:
        why = "was started from another build or with other settings"
    elif not ready(part, 10):
        why = "runs but does not respond"
    else:
        print_progress(part.name, f"already runs on {part.where}")
        return True
    print_progress(part.name, f"{why}: restarting")
    stop(home, [part.name])
    return False


def start(home, part):
    """Starts the part unless it runs. `await_ready` waits for it separately, so that several parts can start concurrently."""
    if not keep_or_stop(home, part):
        print_progress(part.name, f"starting on {part.where}")
        spawn(home, part)


def await_ready(home, part):
    began = time.monotonic()
    show_log = f"the whole log: dev/stack logs {part.name}{home.flag}"
    # Check the process too: another one may respond on a port that ours failed to bind.
    while not (recorded(home, part.name) and part.healthy()):
        is_late = time.monotonic() - began > part.deadline
        if not recorded(home, part.name):
            log = tail(home, part.name)
            if is_late or not part.is_transient(log):
                raise StackError(
                    f"{part.name} ended while starting; its last lines are above",
                    f"fix that, then {home.again}; {show_log}",
                    log,
                )
            time.sleep(0.5)
            spawn(home, part)
        elif is_late:
            log = tail(home, part.name)
            raise StackError(
                f"{part.name} was not ready on {part.where} after {part.deadline:.0f} s", f"{show_log}; then {home.again}", log
            )
        time.sleep(0.05)
    if part.fresh:
        print_progress(part.name, "ready")


def stop(home, names):
    """Sends the first signal to all parts, waits, and sends the next signal to those that miss a deadline.

    The identity of a pid is checked right before each signal.
    """
    waiting = {name: record for name in names if (record := recorded(home, name))}
    began = time.monotonic()
    sent = dict.fromkeys(waiting, 0)
    while waiting:
        for name, record in list(waiting.items()):
            if not alive(record):
                print_progress(name, "stopped")
                del waiting[name]
                continue
            steps, elapsed = record["stopBy"], time.monotonic() - began
            due = sum(1 for index in range(len(steps)) if elapsed >= sum(wait for _, wait in steps[:index]))
            if due > sent[name]:
                sent[name] = due
                if due > 1:
                    print_progress(name, f"did not end, sending {signal.Signals(steps[due - 1][0]).name}")
                with contextlib.suppress(ProcessLookupError):
                    os.kill(record["pid"], steps[due - 1][0])
                    # A stopped process handles no signal except SIGKILL until it is continued.
                    os.kill(record["pid"], signal.SIGCONT)
            elif elapsed > sum(wait for _, wait in steps):
                raise StackError(
                    f"{name} (pid {record['pid']}) did not end after SIGKILL",
                    "inspect it with ps: it may hang in the kernel",
                )
        time.sleep(0.02)
    for name in names:
        home.state["processes"].pop(name, None)
    if names:
        home.save()
