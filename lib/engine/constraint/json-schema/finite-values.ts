/** Whether a finite value meets a schema, found as the least fixed point over the schema's references. */
import type { Schema } from "./rules.ts";

/**
 * The first of the references that no finite value meets, as it asks for itself again and again.
 *
 * @param definitions - schemas by the pointers of all references that the schema leads to
 * @returns its pointer, or undefined
 */
export function endlessDefinition(definitions: ReadonlyMap<string, unknown>): string | undefined {
  const met = new Set<string>();
  let before = -1;
  // Each round adds what is met by values whose references were met before, until a round adds none.
  while (met.size > before) {
    before = met.size;
    for (const [pointer, schema] of definitions)
      if (!met.has(pointer) && isMet(schema, met)) met.add(pointer);
  }
  return [...definitions.keys()].find((pointer) => !met.has(pointer));
}

/** Whether a finite value meets a schema, where one meets each of the references in `met`. */
function isMet(schema: unknown, met: ReadonlySet<string>): boolean {
  if (typeof schema !== "object" || schema === null) return true;
  const { $ref, anyOf, oneOf, allOf, type, ...rest } = schema as Schema;
  const ofPart = (part: unknown): boolean => isMet(part, met);
  if ($ref !== undefined) return met.has($ref as string);
  const branches = anyOf ?? oneOf;
  if (Array.isArray(branches)) return branches.some(ofPart);
  if (Array.isArray(allOf)) return allOf.every(ofPart);
  return [type].flat().some((each) => {
    if (each === "array") return isListMet(rest, ofPart);
    return each === "object" ? isObjectMet(rest, ofPart) : true;
  });
}

function isListMet(
  { prefixItems = [], items, minItems = 0 }: Schema,
  isPartMet: (part: unknown) => boolean,
): boolean {
  const first = (prefixItems as readonly unknown[]).slice(0, minItems as number);
  return first.every(isPartMet) && (first.length === minItems || isPartMet(items));
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
