/** Options that have keys of their own, as they are typed: `rag-r1,queries=single,faithful`. */
import { UsageError } from "./command.ts";

/** Values under their keys, nested. */
export type Values = Readonly<Record<string, unknown>>;

/**
 * Reads what was typed for an option with keys: parts separated by commas, each `key=value`, or a key alone where the
 * value is true. Keys of keys are written with dots. The first part may be a value alone, that of `head`.
 *
 * @param text - what was typed
 * @param head - the key of a first part that is a value alone
 * @param where - names the option in a complaint
 * @throws UsageError for a part that is neither, and for a key that stands twice
 * @example
 * assert.deepEqual(parseAssignments("dapo,clip.high=0.3", "name"), { name: "dapo", clip: { high: 0.3 } });
 */
export function parseAssignments(text: string, head?: string, where = "options"): Values {
  let values: Values = {};
  const paths: string[] = [];
  const put = (path: string, value: unknown): void => {
    const isTaken = (each: string) => `${each}.`.startsWith(`${path}.`) || path.startsWith(`${each}.`);
    if (paths.some(isTaken)) throw new UsageError(`${where}: ${path} is given twice`);
    paths.push(path);
    values = merged(values, nested(path, value));
  };
  for (const [i, part] of text.split(",").entries()) {
    const [, key, value] = /^([A-Za-z][\w.]*)=(.*)$/s.exec(part) ?? [];
    if (key !== undefined && value !== undefined) put(key, scalarOf(value));
    else if (i === 0 && head !== undefined) put(head, scalarOf(part));
    else if (/^[A-Za-z][\w.]*$/.test(part)) put(part, true);
    else
      throw new UsageError(`${where}: expected key=value, separated by commas; got ${JSON.stringify(part)}`);
  }
  return values;
}

/** The second's values over the first's. */
export function merged(below: Values, above: Values): Values {
  const both = Object.entries(above).map(([key, value]) => {
    const under = below[key];
    return [key, isValues(under) && isValues(value) ? merged(under, value) : value];
  });
  return { ...below, ...Object.fromEntries(both) };
}

/** Whether a value is keys with values. */
export function isValues(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function nested(path: string, value: unknown): Values {
  return path.split(".").reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Values;
}

// What is no number stays text, for the schema to refuse by name.
function scalarOf(text: string): unknown {
  if (text === "true" || text === "false") return text === "true";
  const number = Number(text);
  return text.trim() === "" || Number.isNaN(number) ? text : number;
}
