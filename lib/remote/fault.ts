/** Why a request to a server failed, and whether asking again can help. */
import type { z } from "zod";
import { SeekError } from "../base/errors.ts";

/** What a fault says besides its message. */
interface FaultDetails extends ErrorOptions {
  /** Another attempt may succeed: the network, 429, 5xx, a time-out. @default false */
  readonly mayRetry?: boolean;
  /** The server lives and refuses this request: no reason to stop asking it others. @default false */
  readonly isRefusal?: boolean;
  /** The HTTP status that came instead of an answer. */
  readonly status?: number;
  /** How long the server asked us to wait, milliseconds. */
  readonly retryAfterMs?: number | undefined;
}

/** A request that failed: ERR_REMOTE for callers, with what the retries need to know. */
export class Fault extends SeekError {
  readonly mayRetry: boolean;
  readonly isRefusal: boolean;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(message: string, details: FaultDetails = {}) {
    super("ERR_REMOTE", message, details);
    this.mayRetry = details.mayRetry ?? false;
    this.isRefusal = details.isRefusal ?? false;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** The first thing that a schema found wrong, with its place: `result[0][1].score: expected number, ...`. */
export function firstIssue({ issues }: z.ZodError): string {
  return explain(issues[0], []);
}

function explain(issue: z.core.$ZodIssue | undefined, above: readonly PropertyKey[]): string {
  if (issue === undefined) return "another shape";
  const path = [...above, ...issue.path];
  // Of the shapes that were allowed, the one that matched deepest says most.
  if (issue.code === "invalid_union") {
    const closest = [...issue.errors].sort((a, b) => depth(b[0]) - depth(a[0]))[0];
    if (closest?.[0] !== undefined) return explain(closest[0], path);
  }
  const place = path.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`)).join("");
  return `${place.replace(/^\./, "") || "the answer"}: ${issue.message}`;
}

function depth(issue: z.core.$ZodIssue | undefined): number {
  if (issue === undefined) return 0;
  const inner = issue.code === "invalid_union" ? Math.max(...issue.errors.map(([first]) => depth(first))) : 0;
  return issue.path.length + inner;
}
