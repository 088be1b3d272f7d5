/** A call of `seekrl`, read as far as to its options, which are checked; nothing is run. */
import { Command as Program } from "commander";
import { UsageError } from "../../apps/cli/command.ts";
import { commands } from "../../apps/cli/commands.ts";
import { fieldsOf } from "../../apps/cli/fields.ts";
import { flagsOf } from "../../apps/cli/flags.ts";
import { readOptions } from "../../apps/cli/options.ts";

/**
 * Reads a call, and the one that stands behind its `--`.
 *
 * @param words - behind `seekrl`
 * @param fileOf - of a name behind `--config`, the path of a file with what the page shows of it
 * @throws what a user would be told of a wrong call
 */
export async function parseCall(words: readonly string[], fileOf: (name: string) => string): Promise<void> {
  const called = commands
    .filter(({ name }) => name.split(" ").every((word, place) => words[place] === word))
    .sort((a, b) => b.name.length - a.name.length)[0];
  if (called === undefined) throw new UsageError(`unknown command: ${words.join(" ")}`);
  const rest = words.slice(called.name.split(" ").length);
  const end = called.isBefore === undefined ? rest.length : rest.indexOf("--");
  const program = new Program().exitOverride().configureOutput({ writeErr: () => {} });
  program.option("--config <file>").option("--json").argument("[places...]");
  const { places = [] } = called;
  for (const flag of flagsOf(called.options)) program.addOption(flag);
  program.parse(rest.slice(0, end), { from: "user" });
  const { config, json: _, ...all } = program.opts<Record<string, unknown>>();
  const typed = Object.entries(all).filter(([key]) => program.getOptionValueSource(key) === "cli");
  const inner = rest.slice(end + 1);
  const given = called.isBefore === undefined ? program.args : [inner];
  const fields = fieldsOf(called.options);
  const isList = (place: string): boolean => fields.some((field) => field.key === place && field.isList);
  const placed = places.map((place, i) => [place, isList(place) ? given.slice(i).flat() : given[i]]);
  const there = called.placesAreFlags
    ? placed.filter(([, value]) => value !== undefined && value.length > 0)
    : placed;
  const flags = { ...Object.fromEntries(typed), ...Object.fromEntries(there) };
  await readOptions(called.options, flags, config === undefined ? undefined : fileOf(String(config)));
  if (called.isBefore !== undefined) await parseCall(inner, fileOf);
}
