"""The checkout as git describes it: its commit, what has changed, and the state of paths."""

import hashlib
import subprocess

# What has changed is compared with this many commits ago if no earlier run is known.
COMMITS_WITHOUT_HISTORY = 20


class Checkout:
    def __init__(self, folder):
        self.folder = folder
        self.commit = self.git("rev-parse", "HEAD")
        self.count = int(self.git("rev-list", "--count", "HEAD"))

    def git(self, *arguments, check=True):
        done = subprocess.run(["git", *arguments], cwd=self.folder, capture_output=True, text=True)
        if done.returncode and check:
            raise SystemExit(f"error: git {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout.strip() if done.returncode == 0 else None

    def base(self, history, step=None):
        """Returns the commit that changes are compared with: the last one that passed, or in which a step has, if it is in this branch."""
        for commit in history.green_commits(step):
            if commit != self.commit and self.git("merge-base", "--is-ancestor", commit, "HEAD", check=False) is not None:
                return commit
        return self.ancestor(COMMITS_WITHOUT_HISTORY)

    def ancestor(self, commits):
        older = min(commits, self.count - 1)
        return self.git("rev-parse", f"HEAD~{older}", check=False) or self.git("rev-list", "--max-parents=0", "HEAD").split()[-1]

    def changed(self, base):
        """Returns the paths that differ from a commit, with those that are not committed."""
        listed = self.git("diff", "--name-only", base).splitlines()
        return set(listed) | set(self.git("ls-files", "--others", "--exclude-standard").splitlines())

    def is_clean(self):
        return not self.git("status", "--porcelain")

    def state(self, paths, commit="HEAD"):
        """Returns a hash of the content of paths. It is empty if one of them has changes that are not committed."""
        if commit == "HEAD" and self.git("status", "--porcelain", "--", *paths):
            return ""
        return hashlib.sha256(self.git("ls-tree", "-r", commit, "--", *paths).encode()).hexdigest()
