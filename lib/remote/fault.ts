/** Why a request to a server failed, and whether asking again can help. */
import { SeekError } from "../base/errors.ts";

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
