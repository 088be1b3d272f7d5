/** A command's options: the config file below, the flags above, checked by the schema. */
import type { z } from "zod";
import { nearestWord, unknownKey } from "../../lib/base/spelling.ts";
import { parseConfigText } from "../../lib/data/files/config-text.ts";
import { isValues, merged, parseAssignments, type Values } from "./assignments.ts";
import { UsageError } from "./command.ts";
import { readConfigText } from "./config/config-file.ts";
import { type Field, type Form, fieldsOf } from "./fields.ts";
import { flagName } from "./flags.ts";

/**
 * Puts a command's options together.
 *
 * @param schema - the command's options
 * @param flags - what was given on the command line; wins over the file, key by key
 * @param configPath - a YAML or JSON file with the same keys
 * @throws UsageError that names the option, what was expected, and for an unknown key the nearest spelling
 */
export async function readOptions(
  schema: z.ZodObject,
  flags: Readonly<Record<string, unknown>>,
  configPath?: string,
): Promise<Values> {
  const fields = fieldsOf(schema);
  const config = configPath === undefined ? {} : await readConfig(fields, configPath);
  const given: Record<string, unknown> = { ...config, ...flags };
  for (const field of fields) {
    if (field.type === "object" && given[field.key] !== undefined) {
      given[field.key] = withLists(field, together(field, config[field.key], flags[field.key]));
    }
  }
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data as Values;
  throw new UsageError(explainAll(parsed.error.issues, given, fields));
}

/** Flags over the file; where they name another one, such as another recipe, the file's choices are not its own. */
function together({ head, default: fallback }: Field, below: unknown, above: unknown): unknown {
  const value = isValues(below) && isValues(above) ? overlaid(head, below, above) : (above ?? below);
  if (!isValues(value) || head === undefined || head in value || !isValues(fallback)) return value;
  return { [head]: fallback[head], ...value };
}

/** A list among the keys of an option is typed with + between its values; a file may have a list. */
function withLists({ forms }: Field, value: unknown): unknown {
  if (!isValues(value)) return value;
  const isList = (key: string): boolean =>
    forms.some(({ keys }) => keys.some((each) => each.key === key && each.isList));
  const entries = Object.entries(value).map(([key, one]) => {
    return [key, isList(key) && typeof one === "string" ? one.split("+") : one];
  });
  return Object.fromEntries(entries);
}

function overlaid(head: string | undefined, below: Values, above: Values): Values {
  const isOther = head !== undefined && head in above && above[head] !== below[head];
  return isOther ? above : merged(below, above);
}

async function readConfig(fields: readonly Field[], path: string): Promise<Record<string, unknown>> {
  const config = parseConfig(await readConfigText(path), path);
  const known = fields.map(({ key }) => key);
  for (const key of Object.keys(config)) {
    if (!known.includes(key)) throw new UsageError(`${path}: ${unknownKey(key, known)}`);
  }
  const entries = Object.entries(config).map(([key, value]) => {
    const field = fields.find((each) => each.key === key);
    return [key, field === undefined ? value : asGiven(field, value)];
  });
  return Object.fromEntries(entries);
}

// A list of one may be written without brackets, and keys with values as they are typed.
function asGiven({ isList, type, head, key }: Field, value: unknown): unknown {
  if (type === "object" && typeof value === "string") return parseAssignments(value, head, key);
  return isList && value !== null && !Array.isArray(value) ? [value] : value;
}

function parseConfig(text: string, path: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseConfigText(text, path);
  } catch (cause) {
    throw new UsageError(`${path}: ${(cause as Error).message}`, { cause });
  }
  if (value === null || value === undefined) return {};
  if (typeof value === "object" && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UsageError(
    `${path}: expected keys with values, got ${Array.isArray(value) ? "a list" : typeof value}`,
  );
}

/** All that is wrong as one message; what is missing is named together. */
function explainAll(issues: readonly z.core.$ZodIssue[], given: Values, fields: readonly Field[]): string {
  const isMissing = ({ path: [key] }: z.core.$ZodIssue): boolean =>
    key !== undefined && given[String(key)] === undefined;
  const missing = [...new Set(issues.filter(isMissing).map(({ path: [key] }) => flagName(String(key))))];
  const wrong = issues.filter((issue) => !isMissing(issue)).map((issue) => explain(issue, given, fields));
  return [...(missing.length === 0 ? [] : [`${missing.join(", ")}: required`]), ...wrong].join("; ");
}

function explain(issue: z.core.$ZodIssue, given: Values, fields: readonly Field[]): string {
  const [key = "", ...inner] = issue.path.map(String);
  const field = fields.find((each) => each.key === key);
  const name = key === "" ? "options" : flagName(key);
  if (field?.type === "object" && isValues(given[key])) {
    return `${name}: ${explainKey(issue, inner.join("."), field, given[key])}`;
  }
  return `${name}: ${messageOf(issue)}${key === "" ? "" : `, got ${JSON.stringify(given[key])}`}`;
}

function explainKey(issue: z.core.$ZodIssue, path: string, field: Field, given: Values): string {
  const names = field.forms.flatMap(({ name }) => (name === undefined ? [] : [name]));
  if (issue.code === "invalid_union" && path === field.head) {
    const meant = nearestWord(String(given[path]), names);
    const hint = meant === undefined ? `expected one of ${names.join(", ")}` : `did you mean "${meant}"?`;
    return `unknown ${path} "${given[path]}"; ${hint}`;
  }
  const value = path.split(".").reduce<unknown>((at, key) => (isValues(at) ? at[key] : undefined), given);
  if (issue.code !== "unrecognized_keys") {
    return value === undefined
      ? `${path}: required`
      : `${path}: ${messageOf(issue)}, got ${JSON.stringify(value)}`;
  }
  const form = field.forms.find(({ name }) => name === undefined || name === given[field.head ?? ""]);
  const before = path === "" ? "" : `${path}.`;
  const complaints = issue.keys.map((key) => unknownInner(`${before}${key}`, form, field));
  return [...complaints, ...listHint(issue.keys, form, given)].join("; ");
}

/** Values of a list that were separated as keys are: `targets=q_proj,v_proj`. */
function listHint(unknown: readonly string[], form: Form | undefined, given: Values): string[] {
  const lists = form?.keys.filter(({ key, isList }) => isList && given[key] !== undefined) ?? [];
  if (!unknown.some((key) => given[key] === true)) return [];
  return lists.map(({ key }) => {
    const values = [given[key], ...unknown].flat().join("+");
    return `the values of ${key} are joined by +: ${key}=${values}`;
  });
}

function unknownInner(key: string, form: Form | undefined, { forms }: Field): string {
  const known = form?.keys.map((each) => each.key) ?? [];
  const owners = forms.filter(({ keys }) => keys.some((each) => each.key === key));
  if (owners.length === 0 || form?.name === undefined) return unknownKey(key, known);
  const has = owners.map(({ name }) => name).join(", ");
  return `${form.name} has no "${key}", which is of ${has}; it has ${known.join(", ")}`;
}

/** What was expected; the kind of mistake, which the library puts before it, is plain from what was got. */
function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_value" && issue.values.length > 1)
    return `expected one of ${issue.values.join(", ")}`;
  if (issue.code === "invalid_format" && issue.format === "url") return "expected a URL";
  return issue.message.replace(/^(Invalid \w+|Too small|Too big): /, "");
}
