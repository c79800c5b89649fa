// Every state of every noun: tone, icon and word, always all three. A state that this version does not know is
// shown with its raw word, because later versions of the API may add states.
import {
  Archive,
  BellRing,
  BrushCleaning,
  Circle,
  CircleCheck,
  CircleDashed,
  CirclePause,
  CircleSlash,
  CircleStop,
  CircleX,
  Clock,
  Hourglass,
  ListOrdered,
  LoaderCircle,
  Lock,
  LogOut,
  type LucideIcon,
  ShieldAlert,
  ShieldCheck,
  ShieldQuestionMark,
  ShieldX,
  SkipForward,
  Snowflake,
  Star,
  TimerOff,
  TriangleAlert,
  Zap,
} from "lucide-react";
import {
  approvalWords,
  environmentWords,
  freezeWords,
  inLine,
  lastingWords,
  pipelineWords,
  registryWords,
  runnerWords,
  secretVersionWords,
  sessionWords,
  stepVersionWords,
  workWords,
} from "@/texts/en/state";
import { unreached } from "@/texts/en/unreached";
import type { Tone } from "./tone";

export type State = { tone: Tone; icon: LucideIcon; word: string; turning?: boolean };

type DeploymentOutcome = { status: string; skippedEnvironments?: readonly string[] };

export type EnvironmentState = keyof typeof environmentWords;
export type SessionState = keyof typeof sessionWords;
export type WorkState = keyof typeof workWords;
export type ApprovalState = keyof typeof approvalWords;
export type LastingState = keyof typeof lastingWords;
export type FreezeState = keyof typeof freezeWords;
export type PipelineState = keyof typeof pipelineWords;
export type RunnerState = keyof typeof runnerWords;
export type RegistryState = keyof typeof registryWords;
export type StepVersionState = keyof typeof stepVersionWords;
export type SecretVersionState = keyof typeof secretVersionWords;

type Look = [tone: Tone, icon: LucideIcon];

const ENVIRONMENT: Record<EnvironmentState, Look> = {
  free: ["green", Circle],
  yours: ["gold", Star],
  your_turn: ["gold", BellRing],
  held: ["slate", Lock],
  asked_for: ["violet", Clock],
  in_line: ["blue", ListOrdered],
  cleaning_up: ["slate", BrushCleaning],
};

const SESSION: Record<SessionState, Look> = {
  queued: ["blue", ListOrdered],
  active: ["slate", Lock],
  released: ["slate", LogOut],
  expired: ["amber", TimerOff],
  overridden: ["red", Zap],
  canceled: ["slate", CircleSlash],
};

const WORK: Record<WorkState, Look> = {
  pending: ["slate", CircleDashed],
  queued: ["slate", CircleDashed],
  running: ["blue", LoaderCircle],
  waiting: ["amber", Hourglass],
  paused: ["violet", CirclePause],
  succeeded: ["green", CircleCheck],
  failed: ["red", CircleX],
  errored: ["orange", TriangleAlert],
  canceling: ["slate", CircleSlash],
  canceled: ["slate", CircleSlash],
  superseded: ["slate", SkipForward],
  skipped: ["slate", SkipForward],
};

const APPROVAL: Record<ApprovalState, Look> = {
  pending: ["amber", ShieldQuestionMark],
  approved: ["green", ShieldCheck],
  rejected: ["red", ShieldX],
  expired: ["slate", ShieldAlert],
  canceled: ["slate", ShieldAlert],
  invalidated: ["slate", ShieldAlert],
  superseded: ["slate", ShieldAlert],
};

const LASTING: Record<LastingState, Look> = {
  live: ["green", CircleCheck],
  held: ["slate", Lock],
  frozen: ["blue", Snowflake],
};

const FREEZE: Record<FreezeState, Look> = {
  active: ["blue", Snowflake],
  coming: ["violet", Clock],
  over: ["slate", CircleCheck],
};

const PIPELINE: Record<PipelineState, Look> = {
  active: ["green", CircleCheck],
  stopped: ["amber", CircleStop],
  archived: ["slate", Archive],
};

const RUNNER: Record<RunnerState, Look> = {
  online: ["green", CircleCheck],
  draining: ["amber", Hourglass],
  offline: ["slate", CircleDashed],
  revoked: ["slate", CircleSlash],
};

const REGISTRY: Record<RegistryState, Look> = {
  active: ["green", CircleCheck],
  degraded: ["amber", TriangleAlert],
  disabled: ["slate", CirclePause],
};

const STEP_VERSION: Record<StepVersionState, Look> = {
  usable: ["green", CircleCheck],
  young: ["blue", Hourglass],
  unsigned: ["amber", ShieldAlert],
  yanked: ["amber", CircleSlash],
  refused: ["red", CircleX],
};

const SECRET_VERSION: Record<SecretVersionState, Look> = {
  staged: ["blue", Clock],
  active: ["green", CircleCheck],
  retired: ["slate", Archive],
  destroyed: ["slate", CircleSlash],
};

function lookUp<Key extends string>(looks: Record<Key, Look>, words: Record<Key, string>, key: string): State {
  if (!Object.hasOwn(looks, key)) return { tone: "slate", icon: CircleDashed, word: key };
  const [tone, icon] = looks[key as Key];
  return { tone, icon, word: words[key as Key] };
}

export function environmentState(key: EnvironmentState, position?: number): State {
  const state = lookUp(ENVIRONMENT, environmentWords, key);
  return key === "in_line" ? { ...state, word: inLine(position) } : state;
}

/** `mine` gives an active session of the reader its light. */
export function sessionState(key: string, mine = false): State {
  const state = lookUp(SESSION, sessionWords, key);
  return key === "active" && mine ? { ...state, tone: "gold", icon: Star } : state;
}

/** The state of a deployment, a stage or a step. */
export function workState(key: string): State {
  return { ...lookUp(WORK, workWords, key), turning: key === "running" };
}

/** A deployment that succeeded without reaching a lasting environment, because the branch was not known, is not green. */
export function deploymentState({ status, skippedEnvironments = [] }: DeploymentOutcome): State {
  if (status !== "succeeded" || skippedEnvironments.length === 0) return workState(status);
  return { tone: "amber", icon: TriangleAlert, word: unreached.word(skippedEnvironments.join(", ")) };
}

export const approvalState = (key: string): State => lookUp(APPROVAL, approvalWords, key);
export const lastingState = (key: string): State => lookUp(LASTING, lastingWords, key);
export const freezeState = (key: string): State => lookUp(FREEZE, freezeWords, key);
export const pipelineState = (key: string): State => lookUp(PIPELINE, pipelineWords, key);
export const runnerState = (key: string): State => lookUp(RUNNER, runnerWords, key);
export const registryState = (key: string): State => lookUp(REGISTRY, registryWords, key);
export const stepVersionState = (key: string): State => lookUp(STEP_VERSION, stepVersionWords, key);
export const secretVersionState = (key: string): State => lookUp(SECRET_VERSION, secretVersionWords, key);

/** All states by noun, for the page that shows every component. */
export const ALL_STATES: Record<string, State[]> = {
  Environment: (Object.keys(ENVIRONMENT) as EnvironmentState[]).map((key) => environmentState(key, 2)),
  Session: [...Object.keys(SESSION).map((key) => sessionState(key)), sessionState("active", true)],
  "Deployment, stage, step": [
    ...Object.keys(WORK).map(workState),
    deploymentState({ status: "succeeded", skippedEnvironments: ["production"] }),
  ],
  Approval: Object.keys(APPROVAL).map(approvalState),
  "Lasting environment": Object.keys(LASTING).map(lastingState),
  Freeze: Object.keys(FREEZE).map(freezeState),
  Pipeline: Object.keys(PIPELINE).map(pipelineState),
  Runner: Object.keys(RUNNER).map(runnerState),
  "Step registry": Object.keys(REGISTRY).map(registryState),
  "Version of a step": Object.keys(STEP_VERSION).map(stepVersionState),
  "Version of a secret": Object.keys(SECRET_VERSION).map(secretVersionState),
  Unknown: [workState("hibernating")],
};
