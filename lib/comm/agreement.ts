/** What ranks must agree on: what they were given, and whether they go on. */
import { SeekError } from "../base/errors.ts";
import type { ProcessGroup } from "./process-group.ts";

/**
 * Refuses to go on where ranks were given different things.
 *
 * @param processGroup - the ranks
 * @param values - by their names, as JSON can say them
 * @throws ERR_ARGUMENT naming what differs, the rank and both values
 */
export async function agree(
  processGroup: ProcessGroup,
  values: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { numbers } = processGroup;
  const own = Object.fromEntries(Object.entries(values).map(([name, one]) => [name, JSON.stringify(one)]));
  const [first, ...others] = await processGroup.allGather("settings", own);
  for (const [i, other] of others.entries()) {
    const names = [...new Set([...Object.keys(first!), ...Object.keys(other)])];
    const name = names.find((each) => first![each] !== other[each]);
    if (name === undefined) continue;
    const what = `${name}: expected the same on all ranks, got ${first![name]} on rank ${numbers[0]} and ${other[name]} on rank ${numbers[i + 1]}`;
    throw new SeekError("ERR_ARGUMENT", what);
  }
}

/**
 * Ends work between two steps when the signal of any rank has fired, on all of them at the same place.
 *
 * @param processGroup - the ranks; undefined for one process
 * @param signal - this rank's
 * @param what - is ended, for the message
 * @throws ERR_ABORTED
 */
export async function throwIfAnyAborted(
  processGroup: ProcessGroup | undefined,
  signal: AbortSignal | undefined,
  what: string,
): Promise<void> {
  const isAborted = signal?.aborted === true;
  const told = (await processGroup?.allGather(`${what}: whether to go on`, isAborted)) ?? [isAborted];
  if (told.includes(true)) throw new SeekError("ERR_ABORTED", `${what}: aborted`, { cause: signal?.reason });
}
