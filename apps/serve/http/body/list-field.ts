/** Lists of a body: a wrong one costs no more than its first faults. */
import type { z } from "zod";
import { zod } from "../../../../lib/base/on-first-use.ts";
import { breathe } from "../../../../lib/base/slices/breathe.ts";

/** Faults of a list that are told; each takes ten times as long to find as an item that has none. */
const mostFaults = 16;

/** Items that are checked between two turns of others. */
const sliceItems = 16;

type RawIssue = z.core.$ZodRawIssue;

/** How long a list may be, and which of its items say all by themselves. */
interface ListBounds {
  /** Whether an item is right as it stands: the schema takes some tenths of a microsecond for each. @default none is */
  readonly isPlain?: ((value: unknown) => boolean) | undefined;
  /** @default 0 */
  readonly min?: number | undefined;
  /** @default any */
  readonly max?: number | undefined;
}

/**
 * The schema of a list, for `safeParseAsync`: a long one is checked in slices. Zod's own reads all items, however many are wrong and however short the list has to be: seven million
 * numbers in the place of messages took minutes and all memory.
 *
 * @param item - of each item
 */
export function listField<Item extends z.ZodType>(
  item: Item,
  { min = 0, max = Number.POSITIVE_INFINITY, isPlain }: ListBounds = {},
): z.ZodType<z.output<Item>[]> {
  return zod()
    .unknown()
    .transform((value, context): z.output<Item>[] | Promise<z.output<Item>[]> => {
      const refuse = (issue: RawIssue): z.output<Item>[] => {
        context.issues.push(issue);
        return [];
      };
      if (!Array.isArray(value)) return refuse({ code: "invalid_type", expected: "array", input: value });
      const bounded = { origin: "array", inclusive: true, input: value };
      if (value.length < min) return refuse({ code: "too_small", minimum: min, ...bounded });
      if (value.length > max) return refuse({ code: "too_big", maximum: max, ...bounded });
      if (isPlain !== undefined && value.every(isPlain)) return value as z.output<Item>[];
      return readItems(item, value, context.issues);
    });
}

async function readItems<Item extends z.ZodType>(
  item: Item,
  values: readonly unknown[],
  issues: RawIssue[],
): Promise<z.output<Item>[]> {
  const read: z.output<Item>[] = [];
  for (const [i, each] of values.entries()) {
    if (i % sliceItems === sliceItems - 1) await breathe();
    // A wait takes longer than to check a number or a text.
    const isLarge = typeof each === "object";
    const parsed = isLarge ? await item.safeParseAsync(each) : item.safeParse(each);
    if (parsed.success) read.push(parsed.data);
    for (const issue of parsed.error?.issues ?? [])
      issues.push({ ...issue, path: [i, ...issue.path], input: each } as RawIssue);
    if (issues.length >= mostFaults) break;
  }
  return read;
}

/** A list of token ids. */
export function idsField(bounds: Omit<ListBounds, "isPlain"> = {}): z.ZodType<number[]> {
  const isPlain = (value: unknown): boolean =>
    Number.isInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 31;
  return listField(zod().int().min(0), { ...bounds, isPlain });
}
