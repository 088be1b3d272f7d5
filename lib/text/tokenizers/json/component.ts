/** One component of a tokenizer.json, and the check of its keys. */
import type { z } from "zod";
import { SeekError } from "../../../base/errors.ts";
import { lazySchema } from "../../../base/on-first-use.ts";

/** A component: its `type` and whatever belongs to it. */
export type Component = { readonly type: string } & Readonly<Record<string, unknown>>;

/**
 * Checks a component against its schema.
 *
 * @param part named in errors: `normalizer`, `pre_tokenizer`...
 * @throws ERR_FORMAT naming the key that is wrong, missing or unknown
 */
export function parseComponent<T>(part: string, schema: z.ZodType<T>, component: Component): T {
  const result = schema.safeParse(component);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const key = issue === undefined || issue.path.length === 0 ? "" : `${issue.path.join(".")}: `;
  throw new SeekError("ERR_FORMAT", `${part} ${component.type}: ${key}${issue?.message}`);
}

/** The components of a list. @throws ERR_FORMAT when one is none */
export const componentList = lazySchema((z) =>
  z.array(
    z.custom<Component>(
      (value) => typeof value === "object" && value !== null && typeof (value as Component).type === "string",
      "expected an object with a type",
    ),
  ),
);
