// Checked by the compiler only: every status of the API has its look in `ui/state.ts`. A status that is added to
// the document fails the build here until it has one.
import type { components } from "@/api/schema.gen";
import type { AnalysisState } from "@/ui/analysis";
import type { FixState } from "@/ui/fix";
import type {
  ApprovalState,
  PipelineState,
  RegistryState,
  RunnerState,
  SecretVersionState,
  SessionState,
  WorkState,
} from "@/ui/state";
import type { VerdictState } from "@/ui/verdict";

type Schemas = components["schemas"];
type Covers<Known, Status extends Known> = Status;

export type Approval = Covers<ApprovalState, Schemas["ApprovalStatus"]>;
export type Session = Covers<SessionState, Schemas["SessionStatus"]>;
export type Deployment = Covers<WorkState, Schemas["DeploymentStatus"]>;
export type Stage = Covers<WorkState, Schemas["StageStatus"]>;
export type Step = Covers<WorkState, Schemas["StepStatus"]>;
export type Attempt = Covers<WorkState, Schemas["AttemptStatus"]>;
export type Runner = Covers<RunnerState, Schemas["RunnerStatus"]>;
export type StepRegistry = Covers<RegistryState, Schemas["StepRegistryStatus"]>;
export type SecretVersion = Covers<SecretVersionState, Schemas["SecretVersionStatus"]>;
export type Pipeline = Covers<PipelineState, Schemas["PipelineStatus"]>;
export type Verdict = Covers<VerdictState, Schemas["FailureVerdict"]>;
export type Analysis = Covers<AnalysisState, Schemas["AnalysisStatus"]>;
export type Fix = Covers<FixState, Schemas["FixStatus"]>;
