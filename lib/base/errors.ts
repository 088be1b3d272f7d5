/** The one error type of SeekRL, with the closed list of codes shared with the native core. */

const errorCodes = [
  "ERR_ARGUMENT",
  "ERR_SHAPE",
  "ERR_DTYPE",
  "ERR_RANGE",
  "ERR_STATE",
  "ERR_IO",
  "ERR_FORMAT",
  "ERR_MEMORY",
  "ERR_DEVICE",
  "ERR_REMOTE",
  "ERR_ABORTED",
  "ERR_INTERNAL",
] as const;

/**
 * What went wrong, as a word a program can switch on. The same list stands in `native/base/error.h`.
 *
 * - `ERR_ARGUMENT` a value of the wrong kind; `ERR_SHAPE`, `ERR_DTYPE`, `ERR_RANGE` its finer cases
 * - `ERR_STATE` a call at the wrong time (after `close()`, before training began)
 * - `ERR_IO` the file system refused; `ERR_FORMAT` a file holds something else than it should
 * - `ERR_MEMORY`, `ERR_DEVICE` the machine could not; `ERR_REMOTE` a server could not
 * - `ERR_ABORTED` the caller's AbortSignal; `ERR_INTERNAL` our own mistake
 */
export type ErrorCode = (typeof errorCodes)[number];

/**
 * An error a caller can act on: `code` says what kind, `message` names the thing, the expected, the actual.
 *
 * @example
 * await assert.rejects(Model.load("no-such-folder"), (error) => error instanceof SeekError && error.code === "ERR_IO");
 */
export class SeekError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "SeekError";
    this.code = code;
  }
}

/**
 * The error of a file that holds something else than it should.
 *
 * @param from - names the file
 */
export function formatError(from: string, message: string): SeekError {
  return new SeekError("ERR_FORMAT", `${from}: ${message}`);
}

/** @throws ERR_FORMAT, as {@link formatError} words it, unless it holds */
export function expectFormat(holds: boolean, from: string, message: string): asserts holds {
  if (!holds) throw formatError(from, message);
}

/**
 * Ends work that nobody waits for any more; the reason given to `abort()` becomes the cause.
 *
 * @param signal - the caller's
 * @param what - is ended, for the message
 * @throws ERR_ABORTED when the signal has fired
 */
export function throwIfAborted(signal: AbortSignal | undefined, what: string): void {
  if (signal?.aborted) throw new SeekError("ERR_ABORTED", `${what}: aborted`, { cause: signal.reason });
}

/**
 * The code of an error of SeekRL, of another copy of it in the same process too.
 *
 * @param error - whatever was caught
 * @returns undefined for anything else
 */
export function codeOf(error: unknown): ErrorCode | undefined {
  return error instanceof Error ? errorCodeIn(error) : undefined;
}

/** The code of an error that another process told of; undefined for one that is none of SeekRL's. */
export function errorCodeIn(told: unknown): ErrorCode | undefined {
  const { code } = Object(told) as { readonly code?: unknown };
  return errorCodes.find((each) => each === code);
}

/** What an error says; of anything else that was thrown, the value as text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
