"""What the steps of the demo print. The scripts of a definition are run once, outside of a deployment, and their output is kept."""

import os
import subprocess
import tempfile

COMMIT = "0123456789abcdef0123456789abcdef01234567"


# What the step http-check prints if the first response is as expected. Nothing is deployed here, so it is not run.
AVAILABLE = "echo 'the response is as expected after 0 s and 1 requests'"


def script(step):
    """Returns the script of a step, or of the step of the registry that it uses."""
    if "run" in step:
        return step["run"]
    return step["with"]["script"] if "script" in step["with"] else AVAILABLE


class StepLogs:
    """The output of every step of a definition, also of those that fail for some commits."""

    def __init__(self, definition, failing_commits):
        with tempfile.TemporaryDirectory() as folder:
            running = {}
            for stage in definition["stages"]:
                for step in stage["steps"]:
                    for prefix in ["", *(prefix for prefix, name in failing_commits.items() if name == step["name"])]:
                        running[stage["key"], step["name"], prefix] = self.start(definition, stage, step, prefix, folder)
            self.output = {key: process.communicate(timeout=60)[0] for key, process in running.items()}
            self.failed = {key for key, process in running.items() if process.returncode != 0}

    def start(self, definition, stage, step, prefix, folder):
        env = {
            "PATH": os.environ["PATH"],
            **definition["variables"],
            "SITE": folder,
            "GREENROOM_PIPELINE": "storefront",
            "GREENROOM_STAGE": stage["key"],
            "GREENROOM_STEP": step["name"],
            # Each process has its own page, because they run concurrently.
            "GREENROOM_ENVIRONMENT": f"{stage['key']}-{step['name']}",
            "GREENROOM_DEPLOYMENT_ID": "dep_demo",
            "GREENROOM_COMMIT_ID": (prefix + COMMIT)[: len(COMMIT)],
            "GREENROOM_ENVIRONMENT_URL": "@url@",
        }
        command = ["/bin/sh", "-e", "-c", script(step)]
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen(command, env=env, cwd=folder, **streams)

    def text(self, stage, step, commit, environment, url):
        """Returns the bytes that a step printed, and whether it failed."""
        matching = [key for key in self.output if key[:2] == (stage, step) and commit.startswith(key[2])]
        key = max(matching, key=lambda key: len(key[2]))
        text = self.output[key]
        for example, value in (((key[2] + COMMIT)[: len(COMMIT)], commit), (f"{stage}-{step}", environment), ("@url@", url)):
            text = text.replace(example.encode(), value.encode())
        return text, key in self.failed
