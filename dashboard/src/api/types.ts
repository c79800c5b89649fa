// Names for the records of the API, from its document.
import type { components } from "./schema.gen";

type Schemas = components["schemas"];

/** An analysis of one failed attempt of a stage. */
export type Analysis = Schemas["Analysis"];
/** What was sent to a model. */
export type AnalysisPrompt = Schemas["AnalysisPrompt"];
/** The model that explains failures, and its limits. */
export type AnalysisSettings = Schemas["AnalysisSettings"];
export type ApiToken = Schemas["ApiToken"];
export type Approval = Schemas["Approval"];
/** An approval with its votes. */
export type ApprovalDetails = Schemas["ApprovalDetails"];
export type ApprovalRule = Schemas["ApprovalRule"];
export type ApprovalSubject = Schemas["ApprovalSubject"];
export type Attempt = Schemas["Attempt"];
export type BrowserSession = Schemas["BrowserSession"];
export type ChangedMember = Schemas["ChangedMember"];
export type ClaimSession = Schemas["ClaimSession"];
export type Deployment = Schemas["Deployment"];
export type AvailableModel = Schemas["AvailableModel"];
export type DeploymentEvidence = Schemas["DeploymentEvidence"];
/** A read of a secret, with what the list of a deployment adds. */
export type DeploymentSecretRead = Schemas["DeploymentSecretRead"];
export type EndedSession = Schemas["EndedSession"];
export type Environment = Schemas["Environment"];
export type Event = Schemas["Event"];
/** A deployment that has begun to work in a lasting environment. */
export type EnvironmentDeployment = Schemas["EnvironmentDeployment"];
/** Consecutive lines of a log that belong together. */
export type EvidenceItem = Schemas["EvidenceItem"];
/** A failed attempt of a stage, in lists. */
export type Failure = Schemas["Failure"];
/** What was changed since the last good attempt. */
export type FailureChanges = Schemas["FailureChanges"];
export type FailureEnd = Schemas["FailureEnd"];
/** A failed attempt of a stage, with what its log shows. */
export type FailureEvidence = Schemas["FailureEvidence"];
/** All failures with one fingerprint. */
export type FailureHistory = Schemas["FailureHistory"];
export type FailureNote = Schemas["FailureNote"];
export type FailureVerdict = Schemas["FailureVerdict"];
/** A fix of a failure: it is proven in an environment, and then proposed as the draft of a pull request. */
export type Fix = Schemas["FixPullRequest"];
export type FixWaitingOn = Schemas["FixWaitingOn"];
export type Freeze = Schemas["Freeze"];
export type FreezeChange = Schemas["UpdateFreeze"];
export type Forge = Schemas["Forge"];
export type GateOverride = Schemas["GateOverride"];
/** The role of a group or a user on one pipeline. */
export type Grant = Schemas["Grant"];
export type Group = Schemas["Group"];
export type GroupMember = Schemas["GroupMember"];
export type HistoryEntry = Schemas["HistoryEntry"];
export type Holder = Schemas["Holder"];
export type LastingEnvironment = Schemas["LastingEnvironment"];
/** An environment in the list of all pipelines. */
export type ListedEnvironment = Schemas["ListedEnvironment"];
/** A live session of one person, with the pipeline that it belongs to. */
export type ListedSession = Schemas["ListedSession"];
export type Lock = Schemas["Lock"];
export type LogIndex = Schemas["LogIndex"];
export type LogMatches = Schemas["LogMatches"];
export type Me = Schemas["Me"];
export type Member = Schemas["Member"];
export type Network = Schemas["Network"];
export type NewFreeze = Schemas["CreateFreeze"];
export type Notice = Schemas["Notice"];
export type Organization = Schemas["Organization"];
export type Pagination = Schemas["Pagination"];
export type Pipeline = Schemas["Pipeline"];
export type RegistryStep = Schemas["RegistryStep"];
export type RegistryStepVersion = Schemas["RegistryStepVersion"];
/** A version with its manifest and the list of its files. */
export type RegistryStepVersionDetail = Schemas["RegistryStepVersionDetail"];
export type Role = Schemas["Role"];
export type Runner = Schemas["Runner"];
export type RunnerPool = Schemas["RunnerPool"];
export type Secret = Schemas["Secret"];
export type SecretPolicy = Schemas["SecretPolicy"];
export type SecretRead = Schemas["SecretRead"];
export type SecretVersion = Schemas["SecretVersion"];
export type ServiceAccount = Schemas["ServiceAccount"];
export type Session = Schemas["Session"];
export type SessionDeployment = Schemas["SessionDeployment"];
export type SignInMethods = Schemas["SignInMethods"];
export type Stage = Schemas["Stage"];
export type StepDiff = Schemas["StepDiff"];
export type StepRegistry = Schemas["StepRegistry"];
export type StepRun = Schemas["StepRun"];
/** A reference to a step in the current definition of a pipeline. */
export type StepLockChange = Schemas["StepLockChange"];
export type StepUsage = Schemas["StepUsage"];
export type StopMode = Schemas["StopMode"];
export type Summary = Schemas["Summary"];
export type TrustPolicy = Schemas["TrustPolicy"];
export type WaitingOn = Schemas["WaitingOn"];
