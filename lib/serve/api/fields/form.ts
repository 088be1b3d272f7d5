/** Which form a reply's text must have. */
import { lazySchema } from "../../../base/on-first-use.ts";
import type { Constraint } from "../../../engine/constraint/constraint.ts";

/** A JSON schema with OpenAI's name and strictness beside it. */
const namedSchema = lazySchema((z) =>
  z.strictObject({
    name: z.string().max(64).optional(),
    description: z.string().optional(),
    schema: z.record(z.string(), z.unknown()),
    strict: z.boolean().nullish(),
  }),
);

/** `response_format` of chat completions. */
export const responseFormat = lazySchema((z) =>
  z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("text") }),
    // The second form is llama.cpp's.
    z.strictObject({ type: z.literal("json_object"), schema: z.record(z.string(), z.unknown()).optional() }),
    z.strictObject({ type: z.literal("json_schema"), json_schema: namedSchema() }),
  ]),
);

/** What {@link responseFormat} reads. */
export type ResponseFormat =
  | { readonly type: "text" }
  | { readonly type: "json_object"; readonly schema?: object | undefined }
  | { readonly type: "json_schema"; readonly json_schema: { readonly schema: object } };

/** Any JSON object. */
const anyObject = { type: "object", additionalProperties: true };

/** The constraint of a form; none for a plain text. */
export function constraintOf(format: ResponseFormat | null | undefined): Constraint | undefined {
  if (format == null || format.type === "text") return undefined;
  if (format.type === "json_object") return { jsonSchema: format.schema ?? anyObject };
  return { jsonSchema: format.json_schema.schema };
}
