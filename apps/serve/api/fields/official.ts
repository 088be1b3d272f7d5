/** What becomes of the fields that a protocol has: they are read, hints that are told as ignored, or refused by name. */
import type { z as Zod } from "zod";
import { zod } from "../../../../lib/base/on-first-use.ts";
import { ignored } from "../../http/body/request-body.ts";

type Output<Field> = Exclude<Zod.output<Field>, null>;

/** A shape whose fields may be null wherever they may be left out: clients write either. */
type Official<Shape extends Zod.ZodRawShape> = {
  [Key in keyof Shape]: Key extends "type"
    ? Shape[Key]
    : undefined extends Zod.output<Shape[Key]>
      ? Zod.ZodOptional<Zod.ZodType<Output<Shape[Key]>>>
      : Shape[Key];
};

const hints = new WeakSet<object>();
const refusals = new WeakSet<object>();
/** What a field was made of, before it could be null. */
const made = new WeakMap<object, object>();

/** A field that changes no answer here, whatever it says. */
export function hint() {
  const z = zod();
  const field = z
    .unknown()
    .transform(() => ignored)
    .optional();
  hints.add(field);
  return field;
}

/**
 * A field that would change the answer and cannot be had.
 *
 * @param why - and what to say instead
 * @param neutral - what of it changes nothing, beside null and an empty list. @default nothing
 */
export function notServed(why: string, ...neutral: unknown[]) {
  const saysNothing = (value: unknown): boolean =>
    value === undefined || neutral.includes(value) || (Array.isArray(value) && value.length === 0);
  const field = zod().unknown().refine(saysNothing, { error: why }).optional();
  refusals.add(field);
  return field;
}

function orNull(key: string, field: Zod.ZodType): Zod.ZodType {
  // What tells one form from another stays as it is written.
  if (key === "type" || !field.safeParse(undefined).success) return field;
  const given = zod().unknown().optional();
  const nullable = given.transform((value): unknown => value ?? undefined).pipe(field);
  made.set(nullable, field);
  return nullable;
}

/** An object of these fields; others are refused by name. */
export function officialObject<Shape extends Zod.ZodRawShape>(shape: Shape) {
  const fields = Object.entries(shape).map(([key, field]) => [key, orNull(key, field as Zod.ZodType)]);
  return zod().strictObject(Object.fromEntries(fields) as Official<Shape>);
}

/** What becomes of a field. */
export type FieldUse = "read" | "hint" | "refused";

/** What becomes of each field of an object, which the documentation shows. */
export function usesOf({ shape }: { readonly shape: Zod.ZodRawShape }): Record<string, FieldUse> {
  const useOf = (field: object): FieldUse => {
    const origin = made.get(field) ?? field;
    if (hints.has(origin)) return "hint";
    return refusals.has(origin) ? "refused" : "read";
  };
  return Object.fromEntries(Object.entries(shape).map(([key, field]) => [key, useOf(field)]));
}
