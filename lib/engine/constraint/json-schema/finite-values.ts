/** Whether a finite value meets a schema, found as the least fixed point over the schema's references. */
import { itemsOf } from "./keywords.ts";
import type { Schema } from "./rules.ts";

/**
 * The first of the references that no finite value meets, as it asks for itself again and again.
 *
 * @param definitions - schemas by the pointers of all references that the schema leads to
 * @returns its pointer, or undefined
 */
export function endlessDefinition(definitions: ReadonlyMap<string, unknown>): string | undefined {
  const met = new Set<string>();
  // Who asks for a reference is looked at again once a value meets it.
  const askers = new Map<string, string[]>();
  const left = [...definitions.keys()];
  for (let pointer = left.pop(); pointer !== undefined; pointer = left.pop()) {
    if (met.has(pointer)) continue;
    const asked = pointer;
    const has = (reference: string): boolean => {
      if (met.has(reference)) return true;
      const known = askers.get(reference) ?? [];
      known.push(asked);
      askers.set(reference, known);
      return false;
    };
    if (!isMet(definitions.get(pointer), has)) continue;
    met.add(pointer);
    left.push(...(askers.get(pointer) ?? []));
    askers.delete(pointer);
  }
  return [...definitions.keys()].find((pointer) => !met.has(pointer));
}

/** Whether a finite value meets a schema, where one meets each of the references that `has` names. */
function isMet(schema: unknown, has: (reference: string) => boolean): boolean {
  if (typeof schema !== "object" || schema === null) return true;
  const { $ref, anyOf, oneOf, allOf, type, ...rest } = schema as Schema;
  const ofPart = (part: unknown): boolean => isMet(part, has);
  if ($ref !== undefined) return has($ref as string);
  const branches = anyOf ?? oneOf;
  if (Array.isArray(branches)) return branches.some(ofPart);
  if (Array.isArray(allOf)) return allOf.every(ofPart);
  return [type].flat().some((each) => {
    if (each === "array") return isListMet(rest, ofPart);
    return each === "object" ? isObjectMet(rest, ofPart) : true;
  });
}

function isListMet(schema: Schema, isPartMet: (part: unknown) => boolean): boolean {
  const { first = [], others } = itemsOf(schema);
  const { minItems = 0 } = schema;
  const needed = (first as readonly unknown[]).slice(0, minItems as number);
  return needed.every(isPartMet) && (needed.length === minItems || isPartMet(others));
}

function isObjectMet(
  { properties = {}, required = [], additionalProperties }: Schema,
  isPartMet: (part: unknown) => boolean,
): boolean {
  const named = properties as Schema;
  return (required as readonly string[]).every((name) =>
    isPartMet(Object.hasOwn(named, name) ? named[name] : additionalProperties),
  );
}
