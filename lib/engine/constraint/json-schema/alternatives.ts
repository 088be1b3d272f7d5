/** Whether the branches of a `oneOf` exclude each other, so that a text of one is a text of no other. */
import type { Schema } from "./rules.ts";

/** Follows a `$ref`. */
type Resolve = (schema: Schema) => Schema;

/** Whether no value meets two of the branches, as far as their types, values and properties tell. */
export function areExclusive(branches: readonly Schema[], resolve: Resolve): boolean {
  return branches.every((a, i) =>
    branches.slice(i + 1).every((b) => exclude(resolve(a), resolve(b), resolve)),
  );
}

function exclude(a: Schema, b: Schema, resolve: Resolve): boolean {
  const [kindsOfA, kindsOfB] = [kindsOf(a), kindsOf(b)];
  const kinds = kindsOfA.filter((kind) => kindsOfB.includes(kind));
  if (kinds.length === 0) return true;
  const [valuesOfA, valuesOfB] = [valuesOf(a), valuesOf(b)];
  if (valuesOfA !== undefined && valuesOfB !== undefined)
    return valuesOfA.every((each) => !valuesOfB.includes(each));
  if (kinds.some((kind) => kind !== "object")) return false;
  const shared = namesOf(a).filter((name) => namesOf(b).includes(name));
  return shared.some((name) => {
    const [ofA, ofB] = [a, b].map(
      ({ properties }) => (properties as Record<string, Schema> | undefined)?.[name],
    );
    return isSchema(ofA) && isSchema(ofB) && exclude(resolve(ofA), resolve(ofB), resolve);
  });
}

const isSchema = (value: unknown): value is Schema => typeof value === "object" && value !== null;

const allKinds = ["string", "number", "boolean", "null", "array", "object"];

/** What JSON calls a value; a whole number is a number. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function kindsOf(schema: Schema): string[] {
  const values = schema.const !== undefined ? [schema.const] : schema.enum;
  if (Array.isArray(values)) return values.map(kindOf);
  if (schema.type === undefined) return allKinds;
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  return types.map((type) => (type === "integer" ? "number" : String(type)));
}

function valuesOf(schema: Schema): string[] | undefined {
  const values = schema.const !== undefined ? [schema.const] : schema.enum;
  return Array.isArray(values) ? values.map((value) => JSON.stringify(value)) : undefined;
}

function namesOf({ required }: Schema): string[] {
  return Array.isArray(required) ? required.map(String) : [];
}
