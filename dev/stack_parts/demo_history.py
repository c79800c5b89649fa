"""Writes earlier sessions of the demo, with their deployments and logs, and moves what the activity has created into the past.

The API can't create what happened last week, so this module writes rows: each time in one transaction, and such rows as the server
would have written. Ordinals have no gaps, fences ascend, ids contain the time of their creation, whatever has ended has a final
status, and the environments are free and clean afterwards; dev/demo/check_history.py checks that. No events are written: they are
numbered in the order of their times, and the first ones are those of the seeding.
"""

import json
import random
import uuid
from datetime import datetime, timedelta, timezone

from . import demo_holds, postgres
from .console import StackError
from .demo import MEMBERS
from .demo_logs import StepLogs

DAYS = demo_holds.DAYS
# The members and pipelines are older than the first session.
SEEDED_DAYS_AGO = 40
# In an order in which no row refers to a later table.
TABLES = ("sessions", "deployments", "stages", "jobs", "step_runs", "log_segments", "environments")


def insert(home, organization):
    """Writes the earlier sessions, unless there are some. Returns whether it did."""
    known = read_facts(home, uuid_of(organization))
    tables, logs = {table: [] for table in TABLES}, {}
    now = datetime.now(timezone.utc)
    for environment in known["environments"] or []:
        pipeline = environment["pipelineId"]
        if pipeline not in logs:
            logs[pipeline] = StepLogs(environment["definition"], demo_holds.FAILING_COMMITS)
        EnvironmentHistory(known, environment, logs[pipeline], tables).write(now)
    if not tables["sessions"]:
        return False
    statements = []
    for table, rows in tables.items():
        if not rows:
            continue
        # A greenroomd of another version (GREENROOMD) may not have all of these columns.
        columns = [name for name in rows[0] if name in known["columns"][table]]
        source = f"jsonb_populate_recordset(null::{table}, {literal(json.dumps(rows))}) r"
        if table == "environments":
            values = ", ".join(f"{name} = r.{name}" for name in columns if name not in ("organization_id", "id"))
            key = "e.organization_id = r.organization_id and e.id = r.id"
            statements.append(f"update environments e set {values} from {source} where {key};")
        else:
            names = ", ".join(columns)
            statements.append(f"insert into {table} ({names}) select {names} from {source};")
    for table in ("memberships", "pipelines", "pipeline_versions", "environments"):
        statements.append(
            f"update {table} set created_at = created_at - interval '{SEEDED_DAYS_AGO} days'"
            f" where organization_id = '{known['organization']}';"
        )
    execute(home, statements)
    return True


def unused(organization):
    """Returns the condition for the environments that get a history."""
    names = ", ".join(f"'{name}'" for name in demo_holds.ENVIRONMENTS)
    return f"organization_id = '{organization}' and sessions = 0 and session_id is null and name in ({names})"


def read_facts(home, organization):
    """Returns what the rows refer to: ids, definitions, columns. `environments` are those without any session."""
    emails = {key: email for key, email, _, _ in MEMBERS}
    sql = f"""select jsonb_build_object(
        'organization', '{organization}'::uuid,
        'members', (select jsonb_object_agg(email, jsonb_build_object('id', user_id, 'name', name))
                    from memberships where organization_id = '{organization}' and email is not null),
        'columns', (select jsonb_object_agg(name, columns) from (
                        select table_name as name, jsonb_agg(column_name) as columns
                        from information_schema.columns where table_schema = 'public' group by table_name) t),
        'runner', (select jsonb_build_object('id', id, 'name', name, 'poolId', pool_id)
                   from runners where organization_id = '{organization}' order by created_at limit 1),
        'environments', (select jsonb_agg(jsonb_build_object(
                'id', e.id, 'name', e.name, 'url', e.url, 'pipelineId', e.pipeline_id, 'leaseSeconds', e.default_lease_seconds,
                'maxLeaseSeconds', e.longest_lease_seconds, 'configuration', e.configuration, 'definition', v.definition,
                'version', v.version))
            from environments e
            join pipelines p on p.organization_id = e.organization_id and p.id = e.pipeline_id
            join pipeline_versions v on v.organization_id = p.organization_id and v.pipeline_id = p.id
                and v.version = p.definition_version
            where e.id in (select id from environments where {unused(organization)})))"""
    known = json.loads(execute(home, [sql + ";"]))
    known["members"] = {key: known["members"][email] for key, email in emails.items() if email in known["members"]}
    return known


class EnvironmentHistory:
    def __init__(self, known, environment, logs, tables):
        self.known, self.environment, self.logs, self.tables = known, environment, logs, tables
        self.chance = random.Random(f"rows of {environment['name']}")

    def add(self, table, **row):
        encoded = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in row.items()}
        self.tables[table].append({"organization_id": self.known["organization"], **encoded})

    def new_id(self, at):
        """Returns a UUIDv7 of that time."""
        number = self.chance.getrandbits(128) & ~(0xFFFF_FFFF_FFFF << 80) | int(at.timestamp() * 1000) << 80
        return str(uuid.UUID(int=number & ~(0xF << 76) & ~(0x3 << 62) | 0x7 << 76 | 0x2 << 62))

    def write(self, now):
        stages = {stage["key"] for stage in self.environment["definition"]["stages"]}
        holds = demo_holds.invent(self.environment["name"], now, can_fail="build" in stages)
        ids = {id(hold): self.new_id(hold.created_at) for hold in holds}
        fence = 0
        claimed = [hold for hold in holds if hold.claimed_at]
        for ordinal, hold in enumerate(holds, 1):
            if hold.claimed_at:
                fence += 1
            self.write_session(ordinal, hold, ids, fence if hold.claimed_at else None)
            if hold.claimed_at:
                self.write_deployments(hold, ids[id(hold)], fence, claimed)
                # The end is counted as well.
                fence += 1
        last = claimed[-1]
        self.add(
            "environments",
            id=self.environment["id"],
            fence=fence,
            sessions=len(holds),
            used_at=last.claimed_at,
            free_since=last.ended_at,
        )

    def write_session(self, ordinal, hold, ids, fence):
        member, taker = self.known["members"][hold.member], None
        lease = timedelta(seconds=self.environment["leaseSeconds"])
        expires_at = max_expires_at = None
        if hold.claimed_at:
            max_expires_at = hold.claimed_at + timedelta(seconds=self.environment["maxLeaseSeconds"])
            # One that lasted for longer than its lease was renewed.
            expires_at = hold.claimed_at + lease if hold.claimed_at + lease > hold.ended_at else hold.ended_at + lease / 2
            if hold.status == "expired":
                expires_at, lease = hold.ended_at, hold.ended_at - hold.claimed_at
        if hold.overridden_by:
            taker = self.known["members"][hold.overridden_by.member]
        ended_by = taker or (None if hold.status == "expired" else member)
        self.add(
            "sessions",
            id=ids[id(hold)],
            environment_id=self.environment["id"],
            ordinal=ordinal,
            status=hold.status,
            user_id=member["id"],
            user_name=member["name"],
            user_kind=hold.kind,
            context=hold.context,
            commit_id=hold.deployments[0].commit if hold.deployments else None,
            lease_seconds=int(lease.total_seconds()),
            longest_seconds=self.environment["maxLeaseSeconds"],
            fence=fence,
            queued_at=hold.queued_at,
            heard_at=hold.queued_at and (hold.claimed_at or hold.ended_at),
            claimed_at=hold.claimed_at,
            expires_at=expires_at,
            max_expires_at=max_expires_at,
            ended_at=hold.ended_at,
            ended_by=ended_by and ended_by["id"],
            ended_by_name=ended_by and ended_by["name"],
            override_session_id=ids[id(hold.overridden_by)] if hold.overridden_by else None,
            override_reason=hold.override_reason,
            waiting=False,
        )

    def write_deployments(self, hold, session, fence, claimed):
        if not self.known["runner"]:
            return
        configuration = self.environment["configuration"]
        for deployment in hold.deployments:
            created_at, commit = deployment.created_at, deployment.commit
            self.write_deployment(hold, session, fence, created_at, commit, "session", configuration["stages"])
        follower = next((other for other in claimed if other.claimed_at >= hold.ended_at), None)
        is_free_after = not follower or follower.claimed_at - hold.ended_at > timedelta(minutes=5)
        if hold.deployments and hold.status != "overridden" and is_free_after:
            commit = hold.deployments[-1].commit
            self.write_deployment(hold, session, None, hold.ended_at, commit, "teardown", configuration["onRelease"])

    def write_deployment(self, hold, session, fence, created_at, commit, purpose, keys):
        """Writes a deployment, one stage after the other. It fails at the first step whose script fails for this commit."""
        deployment, at, has_failed = self.new_id(created_at), created_at + timedelta(seconds=0.7), False
        started_at = at
        stages = [stage for stage in self.environment["definition"]["stages"] if stage["key"] in keys]
        for position, stage in enumerate(stages):
            at, has_failed = self.write_stage(deployment, position, stage, keys, commit, at, has_failed)
        self.add(
            "deployments",
            id=deployment,
            pipeline_id=self.environment["pipelineId"],
            definition_version=self.environment["version"],
            environment_id=self.environment["id"],
            session_id=session,
            fence=fence,
            commit_id=commit,
            status="failed" if has_failed else "succeeded",
            reason="step_failed" if has_failed else None,
            created_by=self.known["members"][hold.member]["id"],
            created_at=created_at,
            started_at=started_at,
            planned_at=started_at,
            ended_at=at,
            purpose=purpose,
            trigger=purpose,
        )

    def write_stage(self, deployment, position, stage, keys, commit, at, is_skipped):
        retries = [step["retry"] for step in stage["steps"] if step.get("retry")]
        row = {
            "deployment_id": deployment,
            "key": stage["key"],
            "position": position,
            "name": stage["name"] or stage["key"],
            "needs": [key for key in stage["needs"] if key in keys],
            "pool": "default",
            "gated": False,
            "timeout_seconds": stage["timeoutSeconds"] or 3600,
            "attempts": max([retry["attempts"] for retry in retries], default=1),
            "backoff_seconds": max([retry["backoffSeconds"] for retry in retries], default=0),
            "attempt": 0 if is_skipped else 1,
            "tried": 0 if is_skipped else 1,
        }
        if is_skipped:
            self.add("stages", **row, status="skipped", reason="upstream_failed", started_at=None, ended_at=at)
            return at, True
        queued_at, started_at = at, at + timedelta(seconds=self.chance.uniform(0.5, 4))
        job, ended_at, has_failed = self.new_id(queued_at), started_at + timedelta(seconds=2), False
        for number, step in enumerate(stage["steps"]):
            ended_at, has_failed = self.write_step(job, number, stage, step, commit, ended_at, has_failed)
        status, reason = ("failed", "step_failed") if has_failed else ("succeeded", None)
        self.add("stages", **row, status=status, reason=reason, started_at=started_at, ended_at=ended_at)
        runner = self.known["runner"]
        self.add(
            "jobs",
            id=job,
            deployment_id=deployment,
            stage_key=stage["key"],
            attempt=1,
            pool_id=runner["poolId"],
            status=status,
            reason=reason,
            queued_at=queued_at,
            runner_id=runner["id"],
            runner_name=runner["name"],
            started_at=started_at,
            touched=True,
            ended_at=ended_at,
            must_prove=False,
        )
        return ended_at, has_failed

    def write_step(self, job, position, stage, step, commit, at, is_skipped):
        step_id, status, text, ended_at = self.new_id(at), "skipped", b"", at
        has_failed = is_skipped
        if not is_skipped:
            text, has_failed = self.logs.text(stage["key"], step["name"], commit, self.environment["name"], self.environment["url"])
            status = "failed" if has_failed else "succeeded"
            ended_at = at + timedelta(seconds=self.chance.uniform(4, 32))
        self.add(
            "step_runs",
            id=step_id,
            job_id=job,
            position=position,
            name=step["name"],
            status=status,
            exit_code=None if is_skipped else int(has_failed),
            reason="exit code 1" if status == "failed" else None,
            outputs={},
            started_at=None if is_skipped else at,
            ended_at=ended_at,
            log_bytes=len(text),
            stored_bytes=0,
            counted_bytes=len(text),
            newlines=text.count(b"\n"),
            last_line_start=text.rfind(b"\n") + 1,
        )
        if text:
            self.add(
                "log_segments",
                step_run_id=step_id,
                start=0,
                bytes=len(text),
                at=at,
                content=f"\\x{text.hex()}",
                marks=[],
                newlines_before=0,
                blocks=[0, int(at.timestamp() * 1000)],
            )
        return ended_at, has_failed


def move_into_past(home, organization, ages):
    """Moves sessions, and those of their deployments that have ended, into the past by the minutes of `ages` (began, ended). A
    session that was moved already is recognized by its id, which contains the time of its creation."""
    sessions = [
        {"id": uuid_of(session), "began": began, "ended": began if ended is None else ended}
        for session, (began, ended) in ages.items()
    ]
    known = read_facts(home, uuid_of(organization))
    ms = "m.began * 60000"
    shift_pairs = (
        "coalesce((select array_agg(case when n % 2 = 0 then v - {ms} else v end order by n)"
        " from unnest(l.{column}) with ordinality u (v, n)), '{{}}')"
    )
    pairs = [column for column in ("marks", "blocks") if column in known["columns"]["log_segments"]]
    moved_pairs = ", ".join(f"{column} = {shift_pairs.format(ms=ms, column=column)}" for column in pairs)

    def moved(*columns, by="began"):
        return ", ".join(f"{column} = {column} - m.{by} * interval '1 minute'" for column in columns)

    execute(
        home,
        [
            f"""create temporary table moved_sessions on commit drop as
                select s.organization_id, s.id, m.began, m.ended
                from jsonb_to_recordset({literal(json.dumps(sessions))}) m (id uuid, began integer, ended integer)
                join sessions s on s.organization_id = '{known["organization"]}' and s.id = m.id
                where coalesce(s.queued_at, s.claimed_at) > uuid_v7_time(s.id) - interval '30 seconds';""",
            # Of a deployment that was canceled with its session, only the beginning was long ago.
            """create temporary table moved_deployments on commit drop as
               select d.organization_id, d.id, m.began, case d.status when 'canceled' then m.ended else m.began end as ended
               from moved_sessions m
               join deployments d on d.organization_id = m.organization_id and d.session_id = m.id
               where d.ended_at is not null;""",
            f"""update environments e set handover_requested_at = handover_requested_at - m.began * interval '1 minute'
                from moved_sessions m where e.organization_id = m.organization_id and e.handover_session_id = m.id;""",
            f"""update sessions s
                set {moved("queued_at", "claimed_at", "expires_at", "max_expires_at")}, {moved("ended_at", by="ended")}
                from moved_sessions m where s.organization_id = m.organization_id and s.id = m.id;""",
            """update environments e
               set claimed_at = s.claimed_at, expires_at = s.expires_at, max_expires_at = s.max_expires_at, used_at = s.claimed_at,
                   sweep_at = least(e.sweep_at, s.expires_at)
               from moved_sessions m
               join sessions s on s.organization_id = m.organization_id and s.id = m.id
               where e.organization_id = s.organization_id and e.session_id = s.id;""",
            f"""update environments e set {moved("deployed_at")}
                from moved_deployments m where e.organization_id = m.organization_id and e.deployed_deployment_id = m.id;""",
            f"""update log_segments l set {moved("at")}, {moved_pairs}
                from moved_deployments m
                join jobs j on j.organization_id = m.organization_id and j.deployment_id = m.id
                join step_runs r on r.organization_id = j.organization_id and r.job_id = j.id
                where l.organization_id = r.organization_id and l.step_run_id = r.id;""",
            f"""update step_runs r
                set started_at = r.started_at - m.began * interval '1 minute', ended_at = r.ended_at - m.ended * interval '1 minute'
                from moved_deployments m
                join jobs j on j.organization_id = m.organization_id and j.deployment_id = m.id
                where r.organization_id = j.organization_id and r.job_id = j.id;""",
            f"""update secret_reads r set {moved("read_at")}
                from moved_deployments m where r.organization_id = m.organization_id and r.deployment_id = m.id;""",
            f"""update jobs j set {moved("queued_at", "started_at")}, {moved("ended_at", by="ended")}
                from moved_deployments m where j.organization_id = m.organization_id and j.deployment_id = m.id;""",
            f"""update stages s set {moved("started_at")}, {moved("ended_at", by="ended")}
                from moved_deployments m where s.organization_id = m.organization_id and s.deployment_id = m.id;""",
            f"""update deployments d set {moved("started_at", "planned_at")}, {moved("ended_at", by="ended")}
                from moved_deployments m where d.organization_id = m.organization_id and d.id = m.id;""",
            f"""update secret_versions v set created_at = created_at - interval '{SEEDED_DAYS_AGO} days',
                    activated_at = activated_at - interval '{SEEDED_DAYS_AGO} days'
                where organization_id = '{known["organization"]}' and version = 1
                  and created_at > clock_timestamp() - interval '1 day';""",
            f"""update secrets s set created_at = v.created_at from secret_versions v
                where s.organization_id = '{known["organization"]}' and v.organization_id = s.organization_id and v.secret_id = s.id
                  and v.version = 1;""",
            # Also of those that still run: lists are in the order of ids, which is the order of the sessions.
            f"""update deployments d set {moved("created_at")}
                from moved_sessions m where d.organization_id = m.organization_id and d.session_id = m.id;""",
        ],
    )


def uuid_of(public_id):
    return public_id.partition("_")[2]


def literal(text):
    return "'" + text.replace("'", "''") + "'"


def execute(home, statements):
    """Runs the statements in one transaction and returns what they print."""
    result = postgres.run_script(home, "\n".join(statements))
    if result.returncode != 0:
        raise StackError("could not write the demo's history", f"dev/stack reset{home.flag}", result.stderr)
    return result.stdout.strip()
