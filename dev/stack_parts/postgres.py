"""The stack's own PostgreSQL cluster: found, initialised, run on loopback with a password, never the system's."""

import contextlib
import os
import platform
import pwd
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
from glob import glob
from pathlib import Path

from .process import Part, recorded
from .talk import Trouble, say

OLDEST = 15
USER = DATABASE = "greenroom"
PROGRAMS = ("initdb", "postgres", "psql")
FOLDERS = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
    "/Applications/Postgres.app/Contents/Versions/*/bin",
)
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    # TCP is enough, and a socket's path may be no longer than 107 bytes, which a deep checkout exceeds.
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] %q%u@%d ",
}


def installations():
    """Major version → folder of programs, for every usable installation; the user's own PATH wins over the rest."""
    in_path = shutil.which("postgres")
    folders = [os.path.dirname(os.path.realpath(in_path))] if in_path else []
    with contextlib.suppress(OSError):
        folders.append(run(["pg_config", "--bindir"]).stdout.strip())
    folders += [folder for pattern in FOLDERS for folder in sorted(glob(pattern))]
    found = {}
    for folder in filter(None, folders):
        if all(os.access(os.path.join(folder, name), os.X_OK) for name in PROGRAMS):
            version = re.search(r"(\d+)", run([os.path.join(folder, "postgres"), "--version"]).stdout)
            if version and int(version[1]) >= OLDEST:
                found.setdefault(int(version[1]), folder)
    return found


def programs(home):
    """The folder of programs for this stack: data belongs to the major version that made it."""
    found, folder = installations(), home.state["postgres"].get("folder")
    if not found:
        raise Trouble(f"no PostgreSQL {OLDEST} or newer here", "install it, or put its bin folder into PATH")
    made_by = Path(folder, "data", "PG_VERSION") if folder else None
    if made_by and made_by.exists():
        version = int(made_by.read_text())
        if version not in found:
            what = f"this stack's data is of PostgreSQL {version}, which is not installed any more"
            raise Trouble(what, f"install it again, or dev/stack reset{home.flag}")
        return found[version]
    return found[next(iter(found))]


def other_user(capable=False):
    """PostgreSQL refuses to run as root: these words make it run as `postgres`.

    `capable` lets it pass through folders that are closed to that user, such as root's home.
    """
    if os.geteuid() != 0:
        return []
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        what = "PostgreSQL does not run as root, and there is no user postgres"
        raise Trouble(what, "useradd --system postgres, or run this as a plain user") from None
    tool = shutil.which("setpriv") or shutil.which("setpriv", path="/usr/bin:/bin")
    if not tool:
        what = "PostgreSQL does not run as root, and setpriv (util-linux) is missing"
        raise Trouble(what, "install util-linux, or run this as a plain user")
    words = [tool, "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    return words + (["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"] if capable else [])


def can_use(prefix, folder):
    probe = ["sh", "-c", 'cd / && : > "$1/probe" && rm "$1/probe"', "sh", str(folder)]
    return run([*prefix, *probe]).returncode == 0


def settle_folder(home):
    """Where the data lives and as whom it is served. Chosen once: in the stack's folder if the server's user can get there."""
    chosen = home.state["postgres"]
    if "folder" in chosen:
        return
    folder, prefix = home.folder / "postgres", other_user()
    folder.mkdir(mode=0o700, exist_ok=True)
    if prefix:
        shutil.chown(folder, "postgres", "postgres")
        if not can_use(prefix, folder):
            prefix = other_user(capable=True)
        if not can_use(prefix, folder):
            folder.rmdir()
            folder, prefix = Path(tempfile.mkdtemp(prefix=f"greenroom-{home.name}-", dir="/var/tmp")), other_user()
            shutil.chown(folder, "postgres", "postgres")
            say("postgres", f"its user can't enter this checkout: the data goes to {folder}")
    chosen.update(folder=str(folder), prefix=prefix, password=secrets.token_urlsafe(24))
    home.save()


def initialise(home, bin_folder):
    chosen = home.state["postgres"]
    folder = Path(chosen["folder"])
    data, fresh, password = folder / "data", folder / "data.new", folder / "password"
    if data.exists():
        return
    say("postgres", "making a new cluster")
    if fresh.exists():
        shutil.rmtree(fresh)
    with open(os.open(password, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(chosen["password"])
    if chosen["prefix"]:
        shutil.chown(password, "postgres", "postgres")
    locale = "C.UTF-8" if platform.system() == "Linux" else "C"
    words = [f"{bin_folder}/initdb", "-D", str(fresh), "-U", USER, f"--pwfile={password}", "--auth=scram-sha-256"]
    words += ["--encoding=UTF8", f"--locale={locale}", "--no-instructions"]
    made = run([*chosen["prefix"], *words], cwd="/")
    password.unlink()
    if made.returncode != 0:
        raise Trouble("initdb failed; its words are above", f"mend what they say, then {home.again}", made.stdout + made.stderr)
    fresh.rename(data)


def forget_dead_server(data):
    """Removes the lock file of a server that is gone.

    PostgreSQL does that itself, unless another live process, or a zombie, has the old pid now.
    """
    file = data / "postmaster.pid"
    if not file.exists():
        return
    if platform.system() == "Linux":
        # Every process of a cluster works in its data folder, so this sees orphaned backends as well.
        busy = False
        for link in glob("/proc/[0-9]*/cwd"):
            with contextlib.suppress(OSError):
                busy = busy or os.readlink(link) == str(data)
    else:
        pid = file.read_text().split()[0]
        busy = "postgres" in run(["ps", "-o", "command=", "-p", pid]).stdout
    if not busy:
        file.unlink()


def environment():
    """Without the user's PG… variables, which would steer our programs elsewhere."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PG")}


def run(words, cwd=None, timeout=None, **variables):
    env = {**environment(), **variables}
    return subprocess.run(words, env=env, cwd=cwd, timeout=timeout, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def url(home, database=DATABASE):
    return f"postgres://{USER}:{home.state['postgres']['password']}@127.0.0.1:{home.port('postgres')}/{database}"


def ask(home, sql):
    """The answer of one statement, or None where the server does not give one."""
    chosen = home.state["postgres"]
    where = ["-h", "127.0.0.1", "-p", str(home.port("postgres")), "-U", USER, "-d", "postgres"]
    words = [f"{chosen['bin']}/psql", "-XAtqw", *where, "-c", sql]
    try:
        seen = run(words, timeout=10, PGPASSWORD=chosen["password"], PGCONNECT_TIMEOUT="2")
    except subprocess.TimeoutExpired:
        return None
    return seen.stdout.strip() if seen.returncode == 0 else None


def healthy(home):
    return ask(home, "select 1") == "1"


def part(home):
    """The server as a process of the stack. Its cluster is made first where there is none."""
    settle_folder(home)
    bin_folder = programs(home)
    home.state["postgres"]["bin"] = bin_folder
    initialise(home, bin_folder)
    if not recorded(home, "postgres"):
        home.settle_ports("postgres")
        forget_dead_server(Path(home.state["postgres"]["folder"]).resolve() / "data")
    chosen, port = home.state["postgres"], home.port("postgres")
    settings = {**SETTINGS, "port": str(port), "cluster_name": f"greenroom-{home.name}"}
    argv = [*chosen["prefix"], f"{bin_folder}/postgres", "-D", f"{chosen['folder']}/data"]
    for key, value in settings.items():
        argv += ["-c", f"{key}={value}"]
    return Part(
        name="postgres",
        argv=argv,
        env=environment(),
        where=f"127.0.0.1:{port}",
        healthy=lambda: healthy(home),
        # SIGTERM would wait for every client to leave; SIGINT is the fast and clean end.
        stop_by=((signal.SIGINT, 30), (signal.SIGQUIT, 10), (signal.SIGKILL, 10)),
        # After a kill -9 the old backends need a moment to notice and go.
        passing=lambda log: "pre-existing shared memory block" in log or "is another postmaster" in log.lower(),
    )


def ensure_database(home):
    if (
        ask(home, f"select 1 from pg_database where datname = '{DATABASE}'") != "1"
        and ask(home, f"create database {DATABASE}") is None
    ):
        raise Trouble(f"could not create the database {DATABASE}", f"dev/stack logs postgres{home.flag}")
