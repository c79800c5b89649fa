#!/usr/bin/env python3
"""Acts for the people and programs of the demo, as their open browsers and running jobs would.

  dev/demo/act_as_people.py --url URL --demo FILE

Every 30 seconds it sends a heartbeat for each session that waits in a queue, so that it keeps its place. It renews sessions that
are about to expire, and repeats a request for hand-over that has lapsed. It claims nothing and deploys nothing, and it no longer
acts for a session that has ended. URL is the organization's address; FILE is the demo.json of a stack, with the tokens.
"""

import argparse
import itertools
import json
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from stack_parts.demo import PROGRAMS  # noqa: E402
from stack_parts.web import call  # noqa: E402

INTERVAL_SECONDS = 30
ROUNDS_PER_RENEWAL = 4
RENEW_BELOW_SECONDS = 300
# The session has ended, or the member may not use it any more.
ENDED = (401, 403, 404, 409)
# The user of the dashboard is signed in as this member, and decides whether to take a turn.
SIGNED_IN = "developer"


class People:
    def __init__(self, url, demo):
        self.url, self.tokens = url, demo["tokens"]
        activity = demo.get("activity", {})
        self.holding, self.waiting = activity.get("holding", []), activity.get("waiting", [])

    def token(self, session):
        who = session["who"]
        return self.tokens[f"{who}:{PROGRAMS[who]}" if who in PROGRAMS else who]

    def request(self, method, session, action=""):
        return call(method, self.url + session["path"] + action, self.token(session), {} if method == "POST" else None)

    def act(self, round_number):
        """Sends the requests of one round. A session without a response, or with a temporary error, stays for the next round."""
        for session in list(self.waiting):
            self.keep_place(session)
        if round_number % ROUNDS_PER_RENEWAL == 0:
            for session in list(self.holding):
                self.renew(session)

    def keep_place(self, session):
        if session["who"] == SIGNED_IN:
            status, response = self.request("GET", session)
            if status == 200 and response["data"]["status"] == "active":
                return
        status, response = self.request("POST", session, "/heartbeat")
        if status in ENDED:
            self.waiting.remove(session)
        elif status == 200 and response["data"]["status"] == "active":
            self.waiting.remove(session)
            self.holding.append(session)
        elif status == 200 and "request" in session and has_lapsed(response["data"]):
            call("POST", self.url + session["request"], self.token(session), session["body"])

    def renew(self, session):
        status, response = self.request("GET", session)
        if status in ENDED or (status == 200 and response["data"]["status"] != "active"):
            self.holding.remove(session)
        elif status == 200 and seconds_until(response["data"]["expiresAt"]) < RENEW_BELOW_SECONDS:
            self.request("POST", session, "/renew")


def has_lapsed(session):
    """Returns whether a session's request for hand-over ended without an answer."""
    return not session["lock"].get("handover") and not session.get("handoverDeclined")


def seconds_until(text):
    at = datetime.strptime(text[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    return (at - datetime.now(timezone.utc)).total_seconds()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--demo", type=Path, required=True)
    options = parser.parse_args()
    people = People(options.url, json.loads(options.demo.read_text()))
    for round_number in itertools.count():
        people.act(round_number)
        time.sleep(INTERVAL_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
