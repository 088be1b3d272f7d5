/** Lists of hosts and of counts as Slurm shortens them: `node[01-03,07],gpu1` and `2(x3),1`. */
import { SeekError } from "../../../lib/base/errors.ts";

/** A name with any number of bracketed lists of numbers in it. */
const host = /(?:[^,[\]\s]|\[[^[\]]*\])+/;
const hosts = new RegExp(`^${host.source}(?:,${host.source})*$`);

/**
 * The hosts of a list, in its order, one by one.
 *
 * @param list - as in SLURM_JOB_NODELIST
 * @throws ERR_ARGUMENT for what is no such list
 * @example
 * assert.deepEqual([...slurmHosts("node[01-03,07],gpu1")], ["node01", "node02", "node03", "node07", "gpu1"]);
 */
export function* slurmHosts(list: string): Generator<string> {
  if (!hosts.test(list)) throw listError(list);
  for (const [each] of list.matchAll(new RegExp(host.source, "g"))) yield* namesOf(each, list);
}

function* namesOf(name: string, list: string): Generator<string> {
  const [, before = "", ranges, after = ""] = /^([^[]*)\[([^\]]*)\](.*)$/.exec(name) ?? [];
  if (ranges === undefined) {
    yield name;
    return;
  }
  for (const range of ranges.split(","))
    for (const number of numbersOf(range, list))
      for (const rest of namesOf(after, list)) yield `${before}${number}${rest}`;
}

/** The numbers of `08-11`, as wide as the first. */
function* numbersOf(range: string, list: string): Generator<string> {
  const [, from, to = from] = /^(\d+)(?:-(\d+))?$/.exec(range) ?? [];
  if (from === undefined || Number(to) < Number(from)) throw listError(list);
  for (let number = Number(from); number <= Number(to); number++)
    yield String(number).padStart(from.length, "0");
}

function listError(list: string): SeekError {
  const expected = "hosts as Slurm lists them, such as node[01-03,07],gpu1";
  return new SeekError("ERR_ARGUMENT", `list of hosts: expected ${expected}, got ${JSON.stringify(list)}`);
}

/**
 * The counts of a list, one for each node.
 *
 * @param list - as in SLURM_STEP_TASKS_PER_NODE
 * @returns undefined for what is no such list
 * @example
 * assert.deepEqual(slurmCounts("2(x3),1"), [2, 2, 2, 1]);
 */
export function slurmCounts(list: string): number[] | undefined {
  const parts = list.split(",").map((part) => /^(\d+)(?:\(x(\d+)\))?$/.exec(part));
  if (parts.includes(null)) return undefined;
  return parts.flatMap((part) => Array<number>(Number(part?.[2] ?? 1)).fill(Number(part?.[1])));
}
