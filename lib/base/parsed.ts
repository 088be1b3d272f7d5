/** Values of files and servers, checked by a schema. */
import type { z } from "zod";
import { SeekError } from "./errors.ts";

/** The first thing that a schema found wrong, with its place: `result[0][1].score: expected number, ...`. */
export function firstIssue({ issues }: z.ZodError, whole: string): string {
  return explain(issues[0], [], whole);
}

/**
 * A file's or a server's value as its schema has it.
 *
 * @param schema - of the value
 * @param value - as it was read
 * @param from - names the file, for messages
 * @throws ERR_FORMAT naming the file, the place and what is wrong there
 */
export function parsed<Value>(schema: z.ZodType<Value>, value: unknown, from: string): Value {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new SeekError("ERR_FORMAT", `${from}: ${firstIssue(result.error, "content")}`);
}

function explain(issue: z.core.$ZodIssue | undefined, above: readonly PropertyKey[], whole: string): string {
  if (issue === undefined) return "another shape";
  const path = [...above, ...issue.path];
  // Of the shapes that were allowed, the one that matched deepest says most.
  if (issue.code === "invalid_union") {
    const closest = [...issue.errors].sort((a, b) => depth(b[0]) - depth(a[0]))[0];
    if (closest?.[0] !== undefined) return explain(closest[0], path, whole);
  }
  const place = path.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`)).join("");
  return `${place.replace(/^\./, "") || whole}: ${issue.message}`;
}

function depth(issue: z.core.$ZodIssue | undefined): number {
  if (issue === undefined) return 0;
  const inner = issue.code === "invalid_union" ? Math.max(...issue.errors.map(([first]) => depth(first))) : 0;
  return issue.path.length + inner;
}
