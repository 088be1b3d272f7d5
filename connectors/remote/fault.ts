/** Why a request to a server failed, and whether asking again can help. */
import { SeekError } from "../../lib/base/errors.ts";

/** What a fault says besides its message. */
interface FaultDetails extends ErrorOptions {
  /** Another attempt may succeed: the network, 429, 5xx, a time-out. @default false */
  readonly mayRetry?: boolean;
  /** The server lives and refuses this request: no reason to stop asking it others. @default false */
  readonly isRefusal?: boolean;
  /** The HTTP status that came instead of an answer. */
  readonly status?: number;
  /** Where a redirect leads, as the server wrote it. */
  readonly location?: string | undefined;
  /** How long the server asked us to wait, milliseconds. */
  readonly retryAfterMs?: number | undefined;
}

/** A request that failed: ERR_REMOTE for callers, with what the retries need to know. */
export class Fault extends SeekError {
  readonly mayRetry: boolean;
  readonly isRefusal: boolean;
  readonly status: number | undefined;
  readonly location: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(message: string, details: FaultDetails = {}) {
    super("ERR_REMOTE", message, details);
    this.mayRetry = details.mayRetry ?? false;
    this.isRefusal = details.isRefusal ?? false;
    this.status = details.status;
    this.location = details.location;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** Whether what a status says may have passed when it is asked again: a time-out, too many requests, an error of the server's. */
export const mayPass = (status: number): boolean => status === 408 || status === 429 || status >= 500;

/** An answer that is no success. */
interface StatusAnswer {
  readonly status: number;
  /** What stands behind the status in the message. @default nothing */
  readonly addition?: string;
  /** Where it leads. */
  readonly location?: string | undefined;
  /** Its header `Retry-After`. */
  readonly retryAfter?: string | undefined;
}

/** The fault that such an answer is. @param name - of what was asked */
export function statusFault(name: string, answer: StatusAnswer): Fault {
  const { status, addition = "", location, retryAfter } = answer;
  return new Fault(`${name}: expected status 200, got ${status}${addition}`, {
    mayRetry: mayPass(status),
    isRefusal: status < 500,
    status,
    location,
    retryAfterMs: millisecondsOf(retryAfter),
  });
}

/** `Retry-After` is a number of seconds or a date. */
function millisecondsOf(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
