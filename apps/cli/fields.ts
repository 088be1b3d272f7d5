/** What a schema of options says of each option: its type, choices, default and help, and its own keys where it has some. */
import { z } from "zod";

/** An option, or a key of one. */
export interface Field {
  /** Keys of keys are written with dots: `clip.low`. */
  readonly key: string;
  readonly type: "boolean" | "number" | "string" | "object";
  readonly isList: boolean;
  readonly help: string;
  readonly choices: readonly unknown[];
  readonly default: unknown;
  /** Whether the command cannot be called without it. */
  readonly isRequired?: boolean;
  /** Under which title help shows it. */
  readonly group?: string;
  /** Whether it is the folder of a model, in place of which its name on the hub may stand. */
  readonly isModel?: boolean;
  /** Whether it is a file of data, in place of which its address on the hub or elsewhere may stand. */
  readonly isData?: boolean;
  /** Of an object: the key that is meant where none is written, as in `--recipe rag-r1`. */
  readonly head?: string;
  /** The kinds of an object: one, or one for each name. */
  readonly forms: readonly Form[];
}

/** One kind of an object. */
export interface Form {
  /** The value of the head that it belongs to. */
  readonly name?: string;
  readonly help: string;
  readonly keys: readonly Field[];
}

/** The part of JSON Schema that options use. */
interface JsonType {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly items?: JsonType;
  readonly anyOf?: readonly JsonType[];
  readonly oneOf?: readonly JsonType[];
  readonly properties?: Readonly<Record<string, JsonType>>;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly group?: string;
  readonly head?: string;
  readonly isModel?: boolean;
  readonly isData?: boolean;
}

/** Of the schemas that were asked for, as each is several times in a call. */
const known = new WeakMap<z.ZodObject, readonly Field[]>();

/** The options of a schema, in order. */
export function fieldsOf(schema: z.ZodObject): readonly Field[] {
  const fields = known.get(schema) ?? readFields(schema);
  known.set(schema, fields);
  return fields;
}

function readFields(schema: z.ZodObject): Field[] {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: "input" }) as JsonType;
  return Object.entries(properties).map(([key, property]) => ({
    ...fieldOf(key, property),
    isRequired: required.includes(key),
  }));
}

/**
 * Puts options under a title of the help.
 *
 * @example
 * const { steps } = inGroup("Sizes", { steps: z.int().describe("Steps in all.") });
 * assert.equal(fieldsOf(z.object({ steps }))[0]?.group, "Sizes");
 */
export function inGroup<Shape extends z.ZodRawShape>(group: string, shape: Shape): Shape {
  const titled = Object.entries(shape).map(([key, schema]) => {
    const type = schema as z.ZodType;
    return [key, type.meta({ ...type.meta(), group })];
  });
  return Object.fromEntries(titled) as Shape;
}

/** An option that is the folder of a model, or the model's name on the hub. */
export function modelFolder<Schema extends z.ZodType>(schema: Schema): Schema {
  return schema.meta({ ...schema.meta(), isModel: true });
}

/** An option that is a file of questions or conversations, or its address. */
export function dataFile<Schema extends z.ZodType>(schema: Schema): Schema {
  return schema.meta({ ...schema.meta(), isData: true });
}

/** `emulated` is the GPU of tests, whose kernels a package does not have. */
const devices = ["cpu", "cuda", "emulated"];

const deviceError = ({ input }: { readonly input?: unknown }): string => {
  const isNumbered = typeof input === "string" && input.startsWith("cuda:");
  const remedy = "; CUDA_VISIBLE_DEVICES, set before the process starts, says which GPU that is";
  return `expected cpu or cuda${isNumbered ? remedy : ""}`;
};

/** An option that says what a model runs on: `cpu` or `cuda`. */
export const deviceName = z.string().refine((name) => devices.includes(name), { error: deviceError });

function fieldOf(key: string, property: JsonType): Field {
  const isList = property.type === "array";
  const value = isList ? (property.items ?? {}) : property;
  const { description: help = "", default: fallback, group, isModel, isData } = property;
  const common = { key, isList, help, default: fallback, group, isModel, isData };
  const forms = formsOf(value, property.head);
  if (forms.length > 0) return { ...common, type: "object", choices: [], head: property.head, forms };
  const kinds = value.anyOf ?? [value];
  const choices = kinds.flatMap((kind) => kind.enum ?? (kinds.length > 1 ? ["n"] : []));
  return { ...common, type: scalarOf(kinds), choices, forms: [] };
}

function scalarOf(kinds: readonly JsonType[]): "boolean" | "number" | "string" {
  const [first] = kinds;
  const isWords = first?.enum !== undefined && first.type !== "number";
  if (kinds.length !== 1 || isWords) return "string";
  if (first?.type === "integer") return "number";
  return first?.type === "boolean" || first?.type === "number" ? first.type : "string";
}

function formsOf({ oneOf, properties, description = "" }: JsonType, head: string | undefined): Form[] {
  if (oneOf !== undefined) return oneOf.flatMap((each) => formsOf(each, head));
  if (properties === undefined) return [];
  const isName = (key: string): boolean => key === head && properties[key]?.const !== undefined;
  const name = head === undefined ? undefined : properties[head]?.const;
  const keys = Object.entries(properties).filter(([key]) => !isName(key));
  return [
    {
      name: name === undefined ? undefined : String(name),
      help: description,
      keys: keys.flatMap(([key, property]) => flattened(fieldOf(key, property))),
    },
  ];
}

function flattened(field: Field): Field[] {
  if (field.type !== "object") return [field];
  const [form] = field.forms;
  return (form?.keys ?? []).map((inner) => ({ ...inner, key: `${field.key}.${inner.key}` }));
}
