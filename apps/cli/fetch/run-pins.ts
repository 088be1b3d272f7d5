/** Commits of the hub that a run has: a training that goes on takes what it began with, wherever branches stand by now. */
import { readConfig } from "../../../lib/runs/run-config.ts";

const commit = /@[0-9a-f]{40}(?=\/|$)/;

/** Every text within a value. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** The address with a commit for a text that names its place without one; any other text as it is. */
export type Pin = (text: string) => string;

/**
 * What pins names to the commits in a run's `config.yaml`.
 *
 * @param out - the run's folder, which may not be there yet
 */
export async function pinsOf(out: unknown): Promise<Pin> {
  const config = typeof out === "string" ? await readConfig(out) : undefined;
  const addresses = textsIn(config).filter((text) => text.startsWith("hf://") && commit.test(text));
  const byPlace = new Map(addresses.map((address) => [address.replace(commit, ""), address]));
  return (text) => byPlace.get(text.startsWith("hf://") ? text : `hf://${text}`) ?? text;
}
