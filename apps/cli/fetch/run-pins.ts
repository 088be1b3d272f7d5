/** Commits of the hub that a run has: a training that goes on takes what it began with, wherever branches stand by now. */
import { readRecord } from "../../runs/run-config.ts";
import { type CommandIo, UsageError } from "../command.ts";

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
 * @param io - whether a record of somebody else counts
 * @returns pins; it throws UsageError for a commit that somebody else's record names
 */
export async function pinsOf(out: unknown, { trust }: Pick<CommandIo, "trust">): Promise<Pin> {
  const { config, isOwn = false } = (typeof out === "string" ? await readRecord(out) : undefined) ?? {};
  const addresses = textsIn(config).filter((text) => text.startsWith("hf://") && commit.test(text));
  const byPlace = new Map(addresses.map((address) => [address.replace(commit, ""), address]));
  return (text) => {
    const address = byPlace.get(text.startsWith("hf://") ? text : `hf://${text}`);
    if (address === undefined || isOwn || trust) return address ?? text;
    const what = `${out}: ${text}: its record, which is not as a command of this user wrote it, names ${address}`;
    throw new UsageError(`${what}. Remedy: that name with the commit that is meant, or --trust`);
  };
}
