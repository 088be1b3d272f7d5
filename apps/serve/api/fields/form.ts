/** Which form a reply's text must have. */
import { lazySchema } from "../../../../lib/base/on-first-use.ts";
import type { Constraint } from "../../../../lib/engine/constraint/constraint.ts";
import { refused } from "../../http/refusal.ts";
import { officialObject } from "./official.ts";

/** A JSON schema with OpenAI's name and strictness beside it; one without a schema is any object. */
const namedSchema = lazySchema((z) =>
  officialObject({
    name: z.string().max(64).optional(),
    description: z.string().optional(),
    schema: z.record(z.string(), z.unknown()).optional(),
    strict: z.boolean().optional(),
  }),
);

/** `response_format` of chat completions. */
export const responseFormat = lazySchema((z) =>
  z.discriminatedUnion("type", [
    officialObject({ type: z.literal("text") }),
    // The second form is llama.cpp's.
    officialObject({ type: z.literal("json_object"), schema: z.record(z.string(), z.unknown()).optional() }),
    officialObject({ type: z.literal("json_schema"), json_schema: namedSchema() }),
  ]),
);

/** What a text is held to by one of these fields. */
interface Forms {
  readonly response_format?:
    | { readonly type: "text" }
    | { readonly type: "json_object"; readonly schema?: object | undefined }
    | { readonly type: "json_schema"; readonly json_schema: { readonly schema?: object | undefined } }
    | null
    | undefined;
  /** vLLM's and llama.cpp's. */
  readonly grammar?: string | null | undefined;
  readonly json_schema?: object | null | undefined;
}

/** Any JSON object. */
const anyObject = { type: "object", additionalProperties: true };

function formOf(format: Forms["response_format"]): Constraint | undefined {
  if (format == null || format.type === "text") return undefined;
  if (format.type === "json_object") return { jsonSchema: format.schema ?? anyObject };
  return { jsonSchema: format.json_schema.schema ?? anyObject };
}

/** The constraint of a body; none for a plain text. @throws Refusal for more than one */
export function constraintOf({ response_format, grammar, json_schema }: Forms): Constraint | undefined {
  const forms = {
    response_format: formOf(response_format),
    grammar: grammar == null ? undefined : { grammar },
    json_schema: json_schema == null ? undefined : { jsonSchema: json_schema },
  };
  const given = Object.entries(forms).filter(([, form]) => form !== undefined);
  const [[name = "", form] = [], another] = given;
  if (another === undefined) return form;
  throw refused([name], `expected one of ${given.map(([each]) => each).join(" and ")}`);
}
