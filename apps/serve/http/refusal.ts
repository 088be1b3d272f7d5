/** Why a request is not answered: status, code and message. */

/** The closed list of reasons; each has one status. */
export const refusals = {
  malformed_json: 400,
  websocket_connection_limit_reached: 400,
  empty_query: 400,
  context_length_exceeded: 400,
  unauthorized: 401,
  wrong_origin: 403,
  not_found: 404,
  model_not_found: 404,
  previous_response_not_found: 404,
  method_not_allowed: 405,
  too_slow: 408,
  conflict: 409,
  body_too_large: 413,
  unsupported_encoding: 415,
  wrong_host: 421,
  invalid_request: 422,
  too_busy: 429,
  client_gone: 499,
  internal: 500,
  search_failed: 502,
  reward_failed: 502,
  not_ready: 503,
  stopping: 503,
  timeout: 504,
} as const;

/** One of the reasons. */
export type RefusalCode = keyof typeof refusals;

/** What is wrong with one value of a request, in the shape of FastAPI's `detail`. */
export interface Issue {
  readonly type: string;
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly input?: unknown;
  readonly ctx?: Readonly<Record<string, unknown>>;
}

/** What a refusal says besides its message. */
interface RefusalDetails extends ErrorOptions {
  readonly issues?: readonly Issue[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request that is not answered. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: RefusalCode;
  readonly issues: readonly Issue[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: RefusalCode, message: string, details: RefusalDetails = {}) {
    super(message, details);
    this.code = code;
    this.issues = details.issues ?? [];
    this.headers = details.headers ?? {};
  }
}

/**
 * Answers at a path that is there with an option only, which whoever runs the server may not know of.
 *
 * @param path - of the route
 * @param flags - that bring it
 */
export function absent(path: string, flags: string): () => never {
  return () => {
    throw new Refusal("not_found", `${path}: not served here; seekrl serve has it with ${flags}`);
  };
}

/**
 * A value that cannot be had.
 *
 * @param path - the field, and places within it
 * @param message - what was expected, what came
 */
export function refused(
  path: readonly (string | number)[],
  message: string,
  code: RefusalCode = "invalid_request",
): Refusal {
  const place = path.map((key, i) => (typeof key === "number" ? `[${key}]` : i === 0 ? key : `.${key}`));
  const issue = { type: "value_error", loc: ["body", ...path], msg: message };
  return new Refusal(code, `${place.join("")}: ${message}`, { issues: [issue] });
}

/**
 * How errors look to clients: a refusal as it is, of all else nothing but that something failed.
 *
 * @param what - of ours failed
 */
export function failureOf(what: string): (cause: unknown) => Refusal {
  return (cause) => (cause instanceof Refusal ? cause : new Refusal("internal", `${what} failed`, { cause }));
}

/** Whether it is a failure of what is served, not of the request. */
export function isOurs({ code }: Refusal): boolean {
  return refusals[code] === 500 || refusals[code] === 502;
}

/**
 * How a route words its refusals: `detail` as FastAPI does, 422 for everything that a schema refuses; `error` as
 * OpenAI does, 400 for the same; `anthropic` as Anthropic does.
 */
export type Dialect = "detail" | "error" | "anthropic";

/** Malformed JSON and a wrong shape are one status in either dialect. */
export function statusOf({ code }: Refusal, dialect: Dialect): number {
  if (code !== "malformed_json" && code !== "invalid_request") return refusals[code];
  return dialect === "detail" ? 422 : 400;
}

function openAiType(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}

const anthropicTypes: Readonly<Record<number, string>> = {
  ...{ 401: "authentication_error", 403: "permission_error", 404: "not_found_error" },
  ...{ 413: "request_too_large", 429: "rate_limit_error", 503: "overloaded_error", 504: "timeout_error" },
};

function anthropicType(status: number): string {
  return anthropicTypes[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
}

/**
 * The body of a refusal.
 *
 * @param refusal - what is said
 * @param dialect - how
 * @param requestId - of the call
 */
export function refusalBody(refusal: Refusal, dialect: Dialect, requestId: string): object {
  const { code, message, issues } = refusal;
  if (dialect === "detail") return { detail: issues.length > 0 ? issues : message };
  const status = statusOf(refusal, dialect);
  if (dialect === "anthropic") {
    return { type: "error", error: { type: anthropicType(status), message }, request_id: requestId };
  }
  const type = openAiType(status);
  // A place within malformed JSON is no field.
  const field = issues[0]?.loc[1];
  return { error: { message, type, param: typeof field === "string" ? field : null, code } };
}
