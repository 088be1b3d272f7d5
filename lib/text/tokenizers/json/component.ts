/** One component of a tokenizer.json, and the check of its keys. */
import type { z } from "zod";
import { lazySchema } from "../../../base/on-first-use.ts";
import { parsed } from "../../../base/parsed.ts";

/** A component: its `type` and whatever belongs to it. */
export type Component = { readonly type: string } & Readonly<Record<string, unknown>>;

/**
 * Checks a component against its schema.
 *
 * @param part named in errors: `normalizer`, `pre_tokenizer`...
 * @throws ERR_FORMAT naming the key that is wrong, missing or unknown
 */
export function parseComponent<T>(part: string, schema: z.ZodType<T>, component: Component): T {
  return parsed(schema, component, `${part} ${component.type}`);
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
