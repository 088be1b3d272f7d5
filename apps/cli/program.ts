/** Finds the command that a call names, checks its options and runs it. */
import { type OutputConfiguration, Command as Program } from "commander";
import { codeOf, SeekError } from "../../lib/base/errors.ts";
import { packageVersion } from "../../lib/base/package-root.ts";
import type { Values } from "./assignments.ts";
import { type Command, type CommandContext, type CommandIo, UsageError } from "./command.ts";
import { groups } from "./commands.ts";
import { requireOwnNames } from "./config/named-elsewhere.ts";
import { requireOwnRecord } from "./config/trusted-record.ts";
import { tellEnding, wrongUsage } from "./ending.ts";
import { withLocalPaths } from "./fetch/local-paths.ts";
import { type Field, fieldsOf } from "./fields.ts";
import { flagName, flagsOf, valueName } from "./flags.ts";
import { commandHelp } from "./help.ts";
import { readOptions } from "./options.ts";
import { withOption } from "./report/missing-path.ts";

/** A call of one of these commands. */
interface Call extends CommandContext {
  readonly args: readonly string[];
  readonly commands: readonly Command[];
}

/** A command that Ctrl-C ended early; what it said before is all there is to say. */
export class Interrupted extends Error {}

/**
 * Runs the command that a call names.
 *
 * @param args - the arguments after the program's name
 * @param commands - all that there are
 * @param context - of the call
 * @throws what the command throws; CommanderError once help was shown or a wrong call told of; UsageError, Interrupted
 */
export async function runCall(
  args: readonly string[],
  commands: readonly Command[],
  context: CommandContext,
): Promise<void> {
  const program = programOf({ ...context, args, commands: meantBy(args, commands) });
  await program.parseAsync(asked(args, program), { from: "user" });
}

/** The commands of the word that is called, as schemas take long to turn into flags; all, where no command begins so. */
function meantBy(args: readonly string[], commands: readonly Command[]): readonly Command[] {
  const words = args.filter((word) => !word.startsWith("-"));
  const called = words[0] === "help" ? words[1] : words[0];
  const meant = commands.filter(({ name }) => name.split(" ")[0] === called);
  return meant.length === 0 ? commands : meant;
}

function programOf(call: Call): Program {
  const program = new Program("seekrl").description(
    "Trains and runs language models that reason with search.",
  );
  program
    .enablePositionalOptions()
    .configureOutput(outputOf(call))
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .version(packageVersion(), "--version", "the version")
    .helpCommand("help [command]", "shows the options of a command");
  for (const each of call.commands) parentOf(program, each, call).addCommand(subcommandOf(each, call));
  for (const group of program.commands) describeGroup(group);
  return program;
}

// `help data prepare` is `data prepare --help`: commander's own help looks one word deep.
function asked([first, ...rest]: readonly string[], { commands }: Program): string[] {
  if (first !== "help" || rest.length === 0) return first === undefined ? [] : [first, ...rest];
  return commands.some((each) => each.name() === rest[0]) ? [...rest, "--help"] : rest;
}

// A group is made with the first of its commands.
function parentOf(program: Program, { name }: Command, call: Call): Program {
  const [group = "", word] = name.split(" ");
  if (word === undefined) return program;
  const known = program.commands.find((each) => each.name() === group);
  // Its own flags end where the name of one of its commands stands.
  if (known) return known.enablePositionalOptions();
  const made = new Program(group).usage("<command> [options]").exitOverride().helpCommand(false);
  made.configureOutput(outputOf(call));
  program.addCommand(made);
  return made;
}

function describeGroup(group: Program): void {
  if (group.commands.length === 0 || groups[group.name()] === undefined) return;
  const words = group.commands.map((each) => each.name()).join(", ");
  group.description(`${groups[group.name()]}: ${words}`);
}

function subcommandOf(each: Command, call: Call): Program {
  const subcommand = new Program(each.name.split(" ").at(-1)).description(each.summary).exitOverride();
  const { places = [], placesAreFlags = false } = each;
  const fields = fieldsOf(each.options);
  for (const place of places) {
    const schema = each.options.shape[place];
    const isOptional = placesAreFlags || schema?.safeParse(undefined).success;
    const name = isList(fields, place) ? `${place}...` : place;
    subcommand.argument(isOptional ? `[${name}]` : `<${name}>`, schema?.description);
  }
  for (const flag of flagsOf(each.options)) {
    if (placesAreFlags || !places.includes(flag.attributeName())) subcommand.addOption(flag);
  }
  subcommand.option("--config <file>").option("--json").option("--trust");
  const inner = (): Command[] => call.commands.filter(({ name }) => name.startsWith(`${each.name} `));
  subcommand.configureOutput(outputOf(call, fields));
  subcommand.configureHelp({ formatHelp: () => commandHelp(each, call.stdout.columns ?? 80, inner()) });
  return subcommand.action(() => runTyped(each, fields, subcommand, call));
}

const isList = (fields: readonly Field[], place: string): boolean =>
  fields.some(({ key, isList }) => key === place && isList);

/** Runs a command with what was typed. */
async function runTyped(
  each: Command,
  fields: readonly Field[],
  subcommand: Program,
  call: Call,
): Promise<void> {
  const { config, json = false, trust = false, ...flags } = subcommand.opts<Record<string, unknown>>();
  if (each.isBefore !== undefined && !call.args.includes("--"))
    throw new UsageError(`${each.name}: expected -- before the command that it runs, as in ${each.isBefore}`);
  const typed = givenFlags(subcommand, flags);
  const placed = givenPlaces(each, fields, subcommand.args);
  const io = ioOf({ json: json === true, trust: trust === true }, call);
  if (typeof config === "string") await requireOwnRecord(config, io);
  const options = await readOptions(
    each.options,
    each.placesAreFlags ? onceOnly(typed, placed) : { ...typed, ...placed },
    config as string | undefined,
  );
  const { signal } = call;
  await runWithPaths(each, options, fields, io).catch((error) => {
    if (signal.aborted && codeOf(error) === "ERR_ABORTED") throw interruption(each, error);
    // What a process said of its own options is no word about these.
    const places = each.placesAreFlags ? [] : (each.places ?? []);
    throw each.isBefore === undefined ? withOption(error, options, places) : error;
  });
  if (signal.aborted && !each.isService) throw new Interrupted();
}

async function runWithPaths(
  each: Command,
  options: Values,
  fields: readonly Field[],
  io: CommandIo,
): Promise<void> {
  const here = await withLocalPaths(options, fields, io);
  if (each.ignoresNames !== true) await requireOwnNames(here, io);
  await each.run(here, io);
}

/** What was given by its place or by its flag. @throws UsageError for what was given by both */
function onceOnly(typed: Values, placed: Values): Values {
  const given = Object.entries(placed).filter(
    ([, value]) => value !== undefined && [value].flat().length > 0,
  );
  const twice = given.find(([key]) => key in typed);
  if (twice !== undefined)
    throw new UsageError(`${flagName(twice[0])}: expected once, got it without the flag too`);
  return { ...typed, ...Object.fromEntries(given) };
}

/** Where the parser's help and errors go, of which it writes the latter as lines that say so. */
function outputOf(call: Call, fields: readonly Field[] = []): OutputConfiguration {
  const { stdout, stderr } = call;
  return {
    writeOut: (text) => void stdout.write(text),
    writeErr: (text) => void stderr.write(text),
    getOutHelpWidth: () => stdout.columns ?? 80,
    getErrHelpWidth: () => stderr.columns ?? 80,
    outputError: (text) => {
      const message = withExpected(text.trimEnd().replace(/^error: /, ""), fields);
      tellEnding({ code: undefined, message }, wrongUsage, call);
    },
  };
}

/** What stands behind a flag, where nothing did. */
function withExpected(message: string, fields: readonly Field[]): string {
  const [, flag] = /^option '(--[\w-]+) <value>' argument missing/.exec(message) ?? [];
  const field = fields.find(({ key }) => flagName(key) === flag);
  return field === undefined ? message : `${flag}: expected <${valueName(field)}>, got nothing`;
}

function interruption({ goesOn }: Command, cause: unknown): SeekError {
  const then = goesOn === undefined ? "" : `; the same command goes on ${goesOn}`;
  return new SeekError("ERR_ABORTED", `interrupted${then}`, { cause });
}

// Commander fills in `true` for every `--no-...` flag; only what was typed may win over the config file.
function givenFlags(subcommand: Program, flags: Record<string, unknown>): Record<string, unknown> {
  const typed = Object.entries(flags).filter(([key]) => subcommand.getOptionValueSource(key) === "cli");
  return Object.fromEntries(typed);
}

/** What was given by its place; the last place takes all that follows where it is a list. */
function givenPlaces({ places = [] }: Command, fields: readonly Field[], args: readonly string[]): Values {
  return Object.fromEntries(
    places.map((place, i) => [place, isList(fields, place) ? args.slice(i) : args[i]]),
  );
}

function ioOf(
  { json, trust }: Pick<CommandIo, "json" | "trust">,
  { signal, env, stdin, stdout, stderr }: CommandContext,
): CommandIo {
  return {
    ...{ json, trust, signal, env, stdin, stdout, stderr },
    write: (text) => void (json || stdout.write(text)),
    log: (line) => void stderr.write(`${line}\n`),
    result: (value) => void (json && stdout.write(`${JSON.stringify(value)}\n`)),
  };
}
