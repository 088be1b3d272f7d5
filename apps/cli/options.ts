/** A command's options: the config file below, the flags above, checked by the schema. */
import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import type { z } from "zod";
import { unknownKey } from "../../lib/base/spelling.ts";
import { UsageError } from "./command.ts";
import { flagName, listKeys } from "./flags.ts";

/**
 * Puts a command's options together.
 *
 * @param schema - the command's options
 * @param flags - what was given on the command line; wins over the file
 * @param configPath - a YAML or JSON file with the same keys
 * @throws UsageError that names the option, what was expected, and for an unknown key the nearest spelling
 */
export async function readOptions(
  schema: z.ZodObject,
  flags: Readonly<Record<string, unknown>>,
  configPath?: string,
): Promise<unknown> {
  const config = configPath === undefined ? {} : await readConfig(schema, configPath);
  const given = { ...config, ...flags };
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new UsageError(parsed.error.issues.map((issue) => explain(issue, given)).join("\n"));
}

async function readConfig(schema: z.ZodObject, path: string): Promise<Record<string, unknown>> {
  const config = parseConfig(await readConfigText(path), path);
  const known = Object.keys(schema.shape);
  for (const key of Object.keys(config)) {
    if (!known.includes(key)) throw new UsageError(`${path}: ${unknownKey(key, known)}`);
  }
  return Object.fromEntries(Object.entries(config).map(([key, value]) => [key, asGiven(schema, key, value)]));
}

// A list of one may be written without brackets.
function asGiven(schema: z.ZodObject, key: string, value: unknown): unknown {
  const isList = listKeys(schema).includes(key);
  return isList && value !== null && !Array.isArray(value) ? [value] : value;
}

async function readConfigText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new UsageError(`--config ${path}: cannot be read: ${(cause as Error).message}`, { cause });
  }
}

function parseConfig(text: string, path: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = path.endsWith(".json") ? JSON.parse(text) : parse(text);
  } catch (cause) {
    throw new UsageError(`${path}: ${parseProblem(cause)}`, { cause });
  }
  if (value === null || value === undefined) return {};
  if (typeof value === "object" && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UsageError(
    `${path}: expected keys with values, got ${Array.isArray(value) ? "a list" : typeof value}`,
  );
}

/** What a parser of YAML or JSON says in its first line; the rest draws the place. */
export function parseProblem(cause: unknown): string {
  const [first = ""] = (cause as Error).message.split("\n");
  return first.replace(/:$/, "");
}

function explain({ path, message }: z.core.$ZodIssue, given: Readonly<Record<string, unknown>>): string {
  const key = String(path[0] ?? "");
  const value = given[key];
  const name = key === "" ? "options" : flagName(key);
  if (key !== "" && value === undefined) return `${name}: required`;
  return `${name}: ${message.replace(/^Invalid input: /, "")}${key === "" ? "" : `, got ${JSON.stringify(value)}`}`;
}
