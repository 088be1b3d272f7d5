/** Routes of the studio: their root, what they take from a request, and how a failure is worded. */
import { z } from "zod";
import { codeOf, type ErrorCode, messageOf } from "../../../lib/base/errors.ts";
import type { Call } from "../../serve/http/call.ts";
import type { Route } from "../../serve/http/http-server.ts";
import { Refusal, type RefusalCode } from "../../serve/http/refusal.ts";
import type { ApiRoot } from "../api.ts";

/** What every path of the API begins with. */
const apiRoot: ApiRoot = "/api/studio";

/** Bytes of a body; the longest is a query. */
const maxBodyBytes = 1 << 20;

/** What the caller did wrong, by the code of the error; all else is a failure of ours. */
const refusalOf: Partial<Record<ErrorCode, RefusalCode>> = {
  ERR_ARGUMENT: "invalid_request",
  ERR_RANGE: "invalid_request",
  ERR_STATE: "conflict",
};

/** An error as the page shows it; whoever may see runs may know the names of their files. */
function refused(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted || error instanceof Refusal) return error;
  const code = codeOf(error);
  if (code === undefined) return error;
  return new Refusal(refusalOf[code] ?? "internal", messageOf(error), { cause: error });
}

/** A handler whose errors are refusals. */
type Handler = (call: Call) => unknown;

async function answered(call: Call, handle: Handler): Promise<void> {
  try {
    const answer = await handle(call);
    if (answer !== undefined) call.answer(answer, 200, { "cache-control": "no-store" });
  } catch (error) {
    throw refused(error, call.signal);
  }
}

/** A path that is read; what the handler returns is the answer. */
export function getRoute(path: string, handle: Handler): Route {
  return {
    method: "GET",
    path: `${apiRoot}${path}`,
    dialect: "error",
    handle: (call) => answered(call, handle),
  };
}

/** A path that does something. The type of its body is one that no form of another site can send unasked. */
export function postRoute<Shape extends z.ZodType>(
  path: string,
  schema: Shape,
  handle: (body: z.output<Shape>, call: Call) => unknown,
): Route {
  const take = async (call: Call): Promise<unknown> => {
    const [type = ""] = (call.incoming.headers["content-type"] ?? "").split(";");
    if (type.trim().toLowerCase() !== "application/json") {
      throw new Refusal("invalid_request", "content-type: expected application/json");
    }
    return handle(await call.read(schema, { maxBodyBytes }), call);
  };
  return {
    method: "POST",
    path: `${apiRoot}${path}`,
    dialect: "error",
    handle: (call) => answered(call, take),
  };
}

/**
 * The query of a request, checked.
 *
 * @throws Refusal naming the parameter
 */
export function queryOf<Shape extends z.ZodType>(call: Call, schema: Shape): z.output<Shape> {
  const parsed = schema.safeParse(Object.fromEntries(call.query));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Refusal("invalid_request", `${issue?.path.join(".") || "query"}: ${issue?.message}`);
}

/** A number in a query. */
export const numberText = z
  .string()
  .regex(/^-?\d+(\.\d+)?(e-?\d+)?$/i, "expected a number")
  .transform(Number);
/** A whole number in a query. */
export const wholeText = z
  .string()
  .regex(/^\d{1,15}$/, "expected a whole number")
  .transform(Number);
/** Which part of a list. */
export const pageQuery = {
  offset: wholeText.default(0),
  limit: wholeText.pipe(z.int().min(1).max(500)).default(100),
};
/** Right or wrong, by exact match. */
export const emText = z
  .enum(["0", "1"])
  .transform(Number)
  .transform((em): 0 | 1 => (em === 1 ? 1 : 0));
