/** What zod finds wrong, in the words of FastAPI (pydantic 2), which the published systems' clients know. */
import type { z } from "zod";
import type { Issue } from "./refusal.ts";

type ZodIssue = z.core.$ZodIssue;

/** Values longer than this, as JSON, are not sent back. */
const maxShownChars = 200;

const typeNames: Readonly<Record<string, readonly [string, string]>> = {
  string: ["string_type", "Input should be a valid string"],
  int: ["int_type", "Input should be a valid integer"],
  number: ["int_type", "Input should be a valid integer"],
  boolean: ["bool_type", "Input should be a valid boolean"],
  array: ["list_type", "Input should be a valid list"],
  object: ["model_attributes_type", "Input should be a valid dictionary or object to extract fields from"],
};

/** What stands at a path of a value; undefined where there is nothing. */
function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown> | null)?.[key], value);
}

type Wording = Pick<Issue, "type" | "msg" | "ctx">;

const plural = (count: unknown): string => (count === 1 ? "" : "s");

function tooSmall({ origin, minimum }: ZodIssue & { code: "too_small" }): Wording {
  if (origin !== "array" && origin !== "string") {
    const msg = `Input should be greater than or equal to ${minimum}`;
    return { type: "greater_than_equal", msg, ctx: { ge: minimum } };
  }
  const msg =
    origin === "array"
      ? `List should have at least ${minimum} item${plural(minimum)} after validation`
      : `String should have at least ${minimum} character${plural(minimum)}`;
  return { type: origin === "array" ? "too_short" : "string_too_short", msg, ctx: { min_length: minimum } };
}

function tooBig({ origin, maximum }: ZodIssue & { code: "too_big" }): Wording {
  if (origin !== "array" && origin !== "string") {
    const msg = `Input should be less than or equal to ${maximum}`;
    return { type: "less_than_equal", msg, ctx: { le: maximum } };
  }
  const msg =
    origin === "array"
      ? `List should have at most ${maximum} item${plural(maximum)} after validation`
      : `String should have at most ${maximum} character${plural(maximum)}`;
  return { type: origin === "array" ? "too_long" : "string_too_long", msg, ctx: { max_length: maximum } };
}

function wrongType(issue: ZodIssue & { code: "invalid_type" }, input: unknown): Wording {
  if (input === undefined) return { type: "missing", msg: "Field required" };
  if (issue.expected === "int" && typeof input === "number")
    return {
      type: "int_from_float",
      msg: "Input should be a valid integer, got a number with a fractional part",
    };
  const [type, msg] = typeNames[issue.expected] ?? ["value_error", issue.message];
  return { type, msg };
}

function wordingOf(issue: ZodIssue, input: unknown): Wording {
  if (issue.code === "invalid_type") return wrongType(issue, input);
  if (issue.code === "too_small") return tooSmall(issue);
  if (issue.code === "too_big") return tooBig(issue);
  return { type: "value_error", msg: issue.message.replace(/^Invalid input: /, "") };
}

function shown(input: unknown): Pick<Issue, "input"> {
  if (input === undefined) return {};
  return typeof input === "object" || String(input).length > maxShownChars ? {} : { input };
}

/**
 * Names every fault of a request's body.
 *
 * @param error - what the schema found
 * @param body - what was sent
 * @returns the faults, each with its place below `body`
 */
export function issuesOf({ issues }: z.ZodError, body: unknown): Issue[] {
  return issues.map((issue) => {
    const input = valueAt(body, issue.path);
    const { type, msg, ctx } = wordingOf(issue, input);
    const loc = ["body", ...(issue.path as (string | number)[])];
    return { type, loc, msg, ...shown(input), ctx };
  });
}

/** The first fault as a sentence: `queries[3]: Input should be a valid string`. */
export function sentenceOf(issues: readonly Issue[]): string {
  const [first] = issues;
  if (first === undefined) return "the request has a wrong shape";
  const place = first.loc.slice(1).map((key) => (typeof key === "number" ? `[${key}]` : `.${key}`));
  return `${place.join("").replace(/^\./, "") || "body"}: ${first.msg}`;
}
