/** What zod finds wrong, in the words of FastAPI (pydantic 2), which the published systems' clients know. */
import type { z } from "zod";
import type { Issue } from "../refusal.ts";

type ZodIssue = z.core.$ZodIssue;

/** Faults that are told. */
const mostTold = 100;

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

/** A number, or a number of items or characters, on the wrong side of a bound. */
function outOfRange(issue: ZodIssue & { code: "too_small" | "too_big" }): Wording {
  const { origin } = issue;
  const isSmall = issue.code === "too_small";
  const bound = isSmall ? issue.minimum : issue.maximum;
  if (origin !== "array" && origin !== "string") {
    const msg = `Input should be ${isSmall ? "greater" : "less"} than or equal to ${bound}`;
    return isSmall
      ? { type: "greater_than_equal", msg, ctx: { ge: bound } }
      : { type: "less_than_equal", msg, ctx: { le: bound } };
  }
  const items = `${isSmall ? "least" : "most"} ${bound} ${origin === "array" ? "item" : "character"}${bound === 1 ? "" : "s"}`;
  const type = isSmall ? "too_short" : "too_long";
  const ctx = isSmall ? { min_length: bound } : { max_length: bound };
  return origin === "array"
    ? { type, msg: `List should have at ${items} after validation`, ctx }
    : { type: `string_${type}`, msg: `String should have at ${items}`, ctx };
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
  if (issue.code === "too_small" || issue.code === "too_big") return outOfRange(issue);
  if (issue.code === "unrecognized_keys")
    return { type: "extra_forbidden", msg: "Extra inputs are not permitted" };
  return { type: "value_error", msg: issue.message.replace(/^Invalid input: /, "") };
}

function shown(input: unknown): unknown {
  return typeof input === "object" || String(input).length > maxShownChars ? undefined : input;
}

/** Where a value fits none of several forms, the faults of the form that it comes nearest to: those that lie deepest. */
function innermost(issue: ZodIssue): ZodIssue[] {
  if (issue.code !== "invalid_union") return [issue];
  const forms = issue.errors.map((faults) => faults.flatMap(innermost));
  const depthOf = (faults: readonly ZodIssue[]): number =>
    Math.max(0, ...faults.map(({ path }) => path.length));
  const nearest = forms.reduce((best, each) => (depthOf(each) > depthOf(best) ? each : best), []);
  if (nearest.length === 0) return [issue];
  return nearest.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
}

/** One fault for each key that there should not be. */
function keyByKey(issue: ZodIssue): ZodIssue[] {
  if (issue.code !== "unrecognized_keys") return [issue];
  return issue.keys.map((key) => ({ ...issue, path: [...issue.path, key] }));
}

/**
 * Names every fault of a request's body.
 *
 * @param error - what the schema found
 * @param body - what was sent
 * @returns the faults, each with its place below `body`
 */
export function issuesOf({ issues }: z.ZodError, body: unknown): Issue[] {
  return issues
    .slice(0, mostTold)
    .flatMap(innermost)
    .flatMap(keyByKey)
    .map((issue) => {
      const input = valueAt(body, issue.path);
      const { type, msg, ctx } = wordingOf(issue, input);
      const loc = ["body", ...(issue.path as (string | number)[])];
      return { type, loc, msg, input: shown(input), ctx };
    });
}

/** The first fault as a sentence: `queries[3]: Input should be a valid string`. */
export function sentenceOf(issues: readonly Issue[]): string {
  const [first] = issues;
  if (first === undefined) return "the request has a wrong shape";
  const place = first.loc.slice(1).map((key) => (typeof key === "number" ? `[${key}]` : `.${key}`));
  return `${place.join("").replace(/^\./, "") || "body"}: ${first.msg}`;
}
