"""The stack's own PostgreSQL cluster, on loopback and with a password. The system's cluster is never used."""

import base64
import contextlib
import hashlib
import hmac
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
from .console import StackError, print_progress

MIN_VERSION = 15
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
    # TCP is sufficient, and the path of a socket is limited to 107 bytes, which a deep checkout exceeds.
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] %q%u@%d ",
}
# For a cluster that need not survive a crash of the machine: PostgreSQL never waits for a disk, and its log stays small enough
# for memory.
DISPOSABLE_SETTINGS = {"fsync": "off", "full_page_writes": "off", "max_wal_size": "256MB"}
MIN_FREE_BYTES = 2 * 1024**3


def installations():
    """Returns major version → folder of programs for every usable installation. The user's PATH takes precedence."""
    in_path = shutil.which("postgres")
    folders = [os.path.dirname(os.path.realpath(in_path))] if in_path else []
    with contextlib.suppress(OSError):
        folders.append(run(["pg_config", "--bindir"]).stdout.strip())
    folders += [folder for pattern in FOLDERS for folder in sorted(glob(pattern))]
    found = {}
    for folder in filter(None, folders):
        if all(os.access(os.path.join(folder, name), os.X_OK) for name in PROGRAMS):
            version = re.search(r"(\d+)", run([os.path.join(folder, "postgres"), "--version"]).stdout)
            if version and int(version[1]) >= MIN_VERSION:
                found.setdefault(int(version[1]), folder)
    return found


def programs(home):
    """Returns the folder of programs for this stack. Data can only be used by the major version that created it."""
    found, folder = installations(), home.state["postgres"].get("folder")
    if not found:
        raise StackError(f"PostgreSQL {MIN_VERSION} or newer was not found", "install it, or put its bin folder into PATH")
    version_file = Path(folder, "data", "PG_VERSION") if folder else None
    if version_file and version_file.exists():
        version = int(version_file.read_text())
        if version not in found:
            what = f"this stack's data was created by PostgreSQL {version}, which is no longer installed"
            raise StackError(what, f"install it again, or dev/stack reset{home.flag}")
        return found[version]
    return found[next(iter(found))]


def user_prefix(capable=False):
    """Returns the prefix that runs a command as the user `postgres`, because PostgreSQL refuses to run as root.

    `capable` grants access to folders that are closed to that user, such as root's home.
    """
    if os.geteuid() != 0:
        return []
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        what = "PostgreSQL does not run as root, and there is no user postgres"
        raise StackError(what, "useradd --system postgres, or run this as a plain user") from None
    tool = shutil.which("setpriv") or shutil.which("setpriv", path="/usr/bin:/bin")
    if not tool:
        what = "PostgreSQL does not run as root, and setpriv (util-linux) is missing"
        raise StackError(what, "install util-linux, or run this as a plain user")
    prefix = [tool, "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    return prefix + (["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"] if capable else [])


def can_use(prefix, folder):
    probe = ["sh", "-c", 'cd / && : > "$1/probe" && rm "$1/probe"', "sh", str(folder)]
    return run([*prefix, *probe]).returncode == 0


def new_folder(name, parent):
    """Creates a folder for a cluster that the user `postgres` can access."""
    folder = Path(tempfile.mkdtemp(prefix=f"greenroom-{name}-", dir=os.path.abspath(parent)))
    if user_prefix():
        shutil.chown(folder, "postgres", "postgres")
    return folder


def disposable_folder(home, parent):
    """Creates a folder for a disposable cluster. Prints why and returns None if the cluster cannot be there."""
    if not os.path.isdir(parent):
        reason = "does not exist"
    elif shutil.disk_usage(parent).free < MIN_FREE_BYTES:
        reason = f"has less than {MIN_FREE_BYTES // 1024**3} GB free"
    else:
        folder = new_folder(home.name, parent)
        if can_use(user_prefix(), folder):
            return folder
        folder.rmdir()
        reason = "cannot be written by its user"
    print_progress("postgres", f"{parent} {reason}: the data goes to the stack's folder")
    return None


def choose_folder(home, disposable_in):
    """Chooses the data folder and the server's user, once: the stack's folder if that user can access it. A disposable cluster
    is in a new folder in `disposable_in`."""
    chosen = home.state["postgres"]
    if "folder" in chosen:
        if not Path(chosen["folder"]).exists():
            raise StackError(f"this stack's data was in {chosen['folder']}, which is gone", f"dev/stack reset{home.flag}")
        return
    folder, prefix = disposable_folder(home, disposable_in) if disposable_in else None, user_prefix()
    if not folder:
        folder = home.folder / "postgres"
        folder.mkdir(mode=0o700, exist_ok=True)
        if prefix:
            shutil.chown(folder, "postgres", "postgres")
            if not can_use(prefix, folder):
                prefix = user_prefix(capable=True)
            if not can_use(prefix, folder):
                folder.rmdir()
                folder, prefix = new_folder(home.name, "/var/tmp"), user_prefix()
                print_progress("postgres", f"its user cannot access this checkout: the data goes to {folder}")
    chosen.update(folder=str(folder), prefix=prefix, password=secrets.token_urlsafe(24), disposable=bool(disposable_in))
    home.save()


def scram_secret(password):
    """Returns the password as PostgreSQL stores it, with a single iteration of the hash.

    The default of 4096 iterations protects short passwords; this one is random and long. A client computes them for every
    connection, and in a debug build they take longer than the rest of most tests.
    """
    salt, iterations = secrets.token_bytes(16), 1
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations)
    client_key, server_key = (hmac.digest(salted, name, "sha256") for name in (b"Client Key", b"Server Key"))
    stored_key = hashlib.sha256(client_key).digest()
    salt, stored_key, server_key = (base64.b64encode(part).decode() for part in (salt, stored_key, server_key))
    return f"SCRAM-SHA-256${iterations}:{salt}${stored_key}:{server_key}"


def initialize(home, bin_folder):
    chosen = home.state["postgres"]
    folder = Path(chosen["folder"])
    data, fresh, password = folder / "data", folder / "data.new", folder / "password"
    if data.exists():
        return
    print_progress("postgres", "creating a new cluster")
    if fresh.exists():
        shutil.rmtree(fresh)
    with open(os.open(password, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(scram_secret(chosen["password"]))
    if chosen["prefix"]:
        shutil.chown(password, "postgres", "postgres")
    locale = "C.UTF-8" if platform.system() == "Linux" else "C"
    command = [f"{bin_folder}/initdb", "-D", str(fresh), "-U", USER, f"--pwfile={password}", "--auth=scram-sha-256"]
    command += ["--encoding=UTF8", f"--locale={locale}", "--no-instructions"]
    result = run([*chosen["prefix"], *command], cwd="/")
    password.unlink()
    if result.returncode != 0:
        raise StackError("initdb failed; its output is above", f"fix that, then {home.again}", result.stdout + result.stderr)
    fresh.rename(data)


def remove_stale_lock_file(data):
    """Removes the lock file of a server that no longer runs.

    PostgreSQL does that itself, unless another process, or a zombie, has the same pid now.
    """
    file = data / "postmaster.pid"
    if not file.exists():
        return
    if platform.system() == "Linux":
        # The data folder is the working directory of every process of a cluster, so this finds orphaned backends too.
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
    """Returns the environment without the user's PG… variables, which could select another server."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PG")}


def run(command, cwd=None, timeout=None, **variables):
    env = {**environment(), **variables}
    return subprocess.run(command, env=env, cwd=cwd, timeout=timeout, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def url(home, database=DATABASE):
    return f"postgres://{USER}:{home.state['postgres']['password']}@127.0.0.1:{home.port('postgres')}/{database}"


def query(home, sql):
    """Returns the output of one statement, or None if it failed or timed out."""
    chosen = home.state["postgres"]
    where = ["-h", "127.0.0.1", "-p", str(home.port("postgres")), "-U", USER, "-d", "postgres"]
    command = [f"{chosen['bin']}/psql", "-XAtqw", *where, "-c", sql]
    try:
        result = run(command, timeout=10, PGPASSWORD=chosen["password"], PGCONNECT_TIMEOUT="2")
    except subprocess.TimeoutExpired:
        return None
    return result.stdout.strip() if result.returncode == 0 else None


def run_script(home, sql):
    """Runs statements in the stack's database, in one transaction that ends at the first error."""
    chosen = home.state["postgres"]
    command = [f"{chosen['bin']}/psql", "-XAtqw", "-1", "-v", "ON_ERROR_STOP=1", "-f", "-", url(home)]
    return subprocess.run(command, env=environment(), input=sql, timeout=60, capture_output=True, text=True)


def healthy(home):
    return query(home, "select 1") == "1"


def part(home, disposable_in):
    """Returns the server as a process of the stack. Creates its cluster if there is none."""
    choose_folder(home, disposable_in)
    bin_folder = programs(home)
    home.state["postgres"]["bin"] = bin_folder
    initialize(home, bin_folder)
    if not recorded(home, "postgres"):
        home.assign_ports("postgres")
        remove_stale_lock_file(Path(home.state["postgres"]["folder"]).resolve() / "data")
    chosen, port = home.state["postgres"], home.port("postgres")
    settings = {**SETTINGS, "port": str(port), "cluster_name": f"greenroom-{home.name}"}
    if chosen.get("disposable"):
        settings.update(DISPOSABLE_SETTINGS)
    argv = [*chosen["prefix"], f"{bin_folder}/postgres", "-D", f"{chosen['folder']}/data"]
    for key, value in settings.items():
        argv += ["-c", f"{key}={value}"]
    return Part(
        name="postgres",
        argv=argv,
        env=environment(),
        where=f"127.0.0.1:{port}",
        healthy=lambda: healthy(home),
        # SIGTERM would wait for every client to disconnect; SIGINT is a fast and clean shutdown.
        stop_by=((signal.SIGINT, 30), (signal.SIGQUIT, 10), (signal.SIGKILL, 10)),
        # After a kill -9 the old backends take a moment to exit.
        is_transient=lambda log: "pre-existing shared memory block" in log or "is another postmaster" in log.lower(),
    )


def ensure_database(home):
    if (
        query(home, f"select 1 from pg_database where datname = '{DATABASE}'") != "1"
        and query(home, f"create database {DATABASE}") is None
    ):
        raise StackError(f"could not create the database {DATABASE}", f"dev/stack logs postgres{home.flag}")
