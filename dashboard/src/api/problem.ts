// Failed requests as one error type, and what kind of failure each code is. Texts and buttons are chosen by kind
// elsewhere; here is no wording.

export type Kind =
  | "offline"
  | "unauthenticated"
  | "refused"
  | "missing"
  | "locked"
  | "yours"
  | "ended"
  | "stale"
  | "invalid"
  | "conflict"
  | "busy"
  | "uncertain"
  | "unexpected";

/** A request that can be sent instead of the refused one. */
export type SuggestedRequest = {
  action: string;
  method: string;
  href: string;
  body?: Record<string, unknown> | null;
  headers?: Record<string, string> | null;
};

export type FieldProblem = { pointer?: string; detail: string };

const BY_CODE: Record<string, Kind> = {
  network: "offline",
  unauthenticated: "unauthenticated",
  forbidden: "refused",
  scope_missing: "refused",
  token_limited: "refused",
  not_found: "missing",
  environment_locked: "locked",
  pool_exhausted: "locked",
  handover_pending: "locked",
  held_by_you: "yours",
  already_queued: "yours",
  session_overridden: "ended",
  session_released: "ended",
  session_expired: "ended",
  session_canceled: "ended",
  precondition_failed: "stale",
  // The server's own title: no key is set, which is not the same as being busy.
  secrets_unavailable: "conflict",
  invalid_request: "invalid",
  invalid_definition: "invalid",
  rate_limited: "busy",
  overloaded: "busy",
  busy: "busy",
  database_unavailable: "uncertain",
  deadline_exceeded: "uncertain",
  request_timeout: "uncertain",
  idempotency_in_progress: "uncertain",
};

const BY_STATUS: Record<number, Kind> = {
  401: "unauthenticated",
  403: "refused",
  404: "missing",
  409: "conflict",
  412: "stale",
  422: "invalid",
  429: "busy",
  503: "busy",
};

export class Problem extends Error {
  override readonly name = "Problem";
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly requestId: string | undefined;
  readonly retryAfter: number | undefined;
  /** Set if a change has failed, and not a read: only of a change it matters whether it happened. */
  isOfChange = false;
  /** The whole body: per code it has what a program needs to go on, such as `lock` or `sessionId`. */
  readonly body: Readonly<Record<string, unknown>>;

  constructor(status: number, body: Record<string, unknown>, retryAfter?: number) {
    super(text(body.detail) ?? text(body.title) ?? `status ${status}`);
    this.status = status;
    this.body = body;
    this.code = text(body.code) ?? (status === 0 ? "network" : `http_${status}`);
    this.title = text(body.title) ?? "";
    this.requestId = text(body.requestId);
    this.retryAfter = retryAfter;
  }

  get kind(): Kind {
    return BY_CODE[this.code] ?? BY_STATUS[this.status] ?? "unexpected";
  }

  get actions(): SuggestedRequest[] {
    return Array.isArray(this.body.actions) ? this.body.actions.filter(isSuggestedRequest) : [];
  }

  get fields(): FieldProblem[] {
    return Array.isArray(this.body.errors) ? (this.body.errors as FieldProblem[]) : [];
  }

  /** The problem of one field, by its JSON pointer such as `/commitId`. */
  field(pointer: string): string | undefined {
    return this.fields.find((field) => field.pointer === pointer)?.detail;
  }
}

/** Only requests to our own API are offered: an address of another origin, or of another path, is left out. */
function isSuggestedRequest(value: unknown): value is SuggestedRequest {
  const request = value as SuggestedRequest | null;
  return (
    typeof request?.action === "string" &&
    typeof request.method === "string" &&
    /^\/api\/v1\/(?!.*\.\.)/.test(request.href)
  );
}

export function problemOf(status: number, body: unknown, retryAfter: string | null): Problem {
  const isRecord = typeof body === "object" && body !== null && !Array.isArray(body);
  const seconds = retryAfter === null ? Number.NaN : Number(retryAfter);
  return new Problem(
    status,
    isRecord ? (body as Record<string, unknown>) : {},
    Number.isFinite(seconds) ? seconds : undefined,
  );
}

/** The connection failed: nothing is known about what the server did. */
export function networkProblem(error: unknown): Problem {
  return new Problem(0, { detail: error instanceof Error ? error.message : "" });
}

/** Whether a change may have happened although no result arrived. It has to be sent again with the same key. */
export function isUncertain(problem: Problem): boolean {
  return problem.kind === "uncertain" || problem.kind === "offline" || problem.status === 502 || problem.status === 504;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
