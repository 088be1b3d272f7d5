/** What a run's record names beyond the run's folder: programs, addresses, variables, paths, for somebody to read before they are used. */
import { readText } from "../../lib/base/files/regular-file.ts";
import { type Settings, valuesByPath } from "../../lib/train/run/settings.ts";

/** One thing that a record names. */
interface Named {
  readonly kind: "program" | "address" | "variable" | "path";
  /** The option: `tools.mcpServers.shell`. */
  readonly option: string;
  /** As it stands there, of a program with its arguments. */
  readonly text: string;
}

/** Programs stand first, so that no length of a list hides one. */
const order = ["program", "address", "variable", "path"] as const;
/** Lines; more than a person reads. */
const maxShown = 200;

/** Options whose values are paths, whatever they look like. */
const pathOption =
  /(^|\.)(model|adapter|data|validation|questions|evalQuestions|out|tools|folder|encoder|cache|corpus|file|cwd|prompt\w*|relevancePrompt|\w+Folder|\w+File)(\.\d+)?$/;

/** `${NAME}` in a file of tools is filled from the environment. */
const filled = /\$\{\w+\}/;

function kindOf(option: string, text: string): Named["kind"] | undefined {
  if (/^[a-z][\w+.-]*:\/\//i.test(text)) return "address";
  if (/keyEnv$/i.test(option) || filled.test(text)) return "variable";
  return pathOption.test(option) || /[/\\~]|^\.+$/.test(text) ? "path" : undefined;
}

function namedBelow(value: unknown, above: string): Named[] {
  return valuesByPath(value, above).flatMap(([option, text]) => {
    const kind = typeof text === "string" && text !== "" ? kindOf(option, text) : undefined;
    return kind === undefined ? [] : [{ kind, option, text: text as string }];
  });
}

const isObject = (value: unknown): value is Settings => typeof value === "object" && value !== null;

/** A server of tools that is a program, as it would be started; and all else that its entry names. */
function namedByServer(entry: unknown, option: string): Named[] {
  if (!isObject(entry) || !("command" in entry)) return namedBelow(entry, option);
  const { command, args, ...rest } = entry;
  const text = [command, args ?? []].flat().map(String).join(" ");
  return [{ kind: "program", option, text }, ...namedBelow(rest, option)];
}

async function namedByTools(file: string): Promise<Named[]> {
  const { parseConfigText } = await import("../../lib/data/files/config-text.ts");
  try {
    const tools = parseConfigText(await readText(file), file);
    const { mcpServers, ...rest } = isObject(tools) ? tools : {};
    const servers = Object.entries(isObject(mcpServers) ? mcpServers : {});
    const named = servers.flatMap(([name, entry]) => namedByServer(entry, `tools.mcpServers.${name}`));
    return [...named, ...namedBelow(rest, "tools")];
  } catch (error) {
    return [{ kind: "program", option: "tools", text: `whatever ${file} says: ${(error as Error).message}` }];
  }
}

/** Nothing that a terminal would obey, or that would show one text as another. */
export function printable(text: string): string {
  const escaped = (character: string): string => `\\u{${character.codePointAt(0)?.toString(16)}}`;
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, escaped);
}

/**
 * What a record names, one thing a line: `program tools.mcpServers.shell: sh -c ...`.
 *
 * @param config - of the record; the file of tools that it names is read, and nothing else
 * @returns programs first, then addresses, variables of the environment and paths
 */
async function namedLines(config: Settings): Promise<string[]> {
  const own = namedBelow(config, "");
  const tools = typeof config.tools === "string" ? await namedByTools(config.tools) : [];
  const all = [...tools, ...own].sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
  const lines = all
    .slice(0, maxShown)
    .map(({ kind, option, text }) => printable(`${kind} ${option}: ${text}`));
  return all.length > maxShown ? [...lines, `and ${all.length - maxShown} more`] : lines;
}

/** Why a record is not acted upon: what it names, and the remedy. */
export async function foreignRecordMessage(path: string, config: Settings, remedy: string): Promise<string> {
  const lines = (await namedLines(config)).map((line) => `  ${line}`);
  const named = lines.length === 0 ? "it names no program, address or path" : "it names";
  const what = `${path}: not as a command of this user wrote it on this machine, but somebody else's or edited`;
  return [`${what}; ${named}`, ...lines, `Remedy: ${remedy}`].join("\n");
}
