/** A command's help from its schema, for a terminal of any width, and the same as tables for the documentation. */
import { isValues } from "./assignments.ts";
import type { Command } from "./command.ts";
import { type Field, type Form, fieldsOf } from "./fields.ts";
import { flagName, valueName } from "./flags.ts";

const indent = 2;
const termWidth = 34;
/** More choices than fit into this stand in the help text, not beside the name. */
const maxChoices = 24;

const common: readonly Field[] = [
  {
    ...{ key: "config", type: "string", isList: false, choices: [], default: undefined, forms: [] },
    help: "A YAML or JSON file with these options: names without dashes, in camelCase.",
  },
  {
    ...{ key: "json", type: "boolean", isList: false, choices: [], default: undefined, forms: [] },
    help: "One JSON object on standard output, all else on standard error.",
  },
  {
    ...{ key: "trust", type: "boolean", isList: false, choices: [], default: undefined, forms: [] },
    help: "Acts on what a run's files name that this user's commands did not write.",
  },
];

/** All that `--help` says of a command; `inner` are the commands whose names begin with its name. */
export function commandHelp(
  { name, summary, options, places = [], placesAreFlags = false }: Command,
  width: number,
  inner: readonly Pick<Command, "name" | "summary">[] = [],
): string {
  const fields = fieldsOf(options);
  const placed = fields.filter(({ key }) => places.includes(key));
  const flags = fields.filter(({ key }) => placesAreFlags || !places.includes(key));
  const usage = placed.map(({ key, isList }) => ` [${key}${isList ? "..." : ""}]`).join("");
  const titles = [...new Set(flags.map(titleOf))];
  const groups = titles.map((title) => {
    const rows = flags.filter((field) => titleOf(field) === title).map((field) => optionRow(field, width));
    return `\n${title}:\n${rows.join("")}`;
  });
  return [
    `Usage: seekrl ${name} [options]${usage}\n\n`,
    wrapped(summary, 0, width),
    placed.length === 0 ? "" : `\nArguments:\n${placed.map((field) => argumentRow(field, width)).join("")}`,
    inner.length === 0 ? "" : `\nCommands:\n${inner.map((each) => innerRow(each, width)).join("")}`,
    ...groups,
    `\nEvery command:\n${common.map((field) => optionRow(field, width)).join("")}`,
    ...fields.filter(({ type }) => type === "object").map((field) => `\n${keysOf(field, width)}`),
  ].join("");
}

/** A table of the keys of one form, for a page of the documentation. */
export function keyTable({ keys }: Pick<Form, "keys">): string {
  const rows = keys.map((key) => {
    const help = key.isList ? `${key.help} Joined by +; a list in a file.` : key.help;
    return `| \`${key.key}\` | ${cellOf(key)} | ${help} | ${defaultCell(key)} |`;
  });
  return ["| key | value | | default |", "|---|---|---|---|", ...rows].join("\n");
}

function cellOf(key: Field): string {
  if (key.type === "boolean") return "`true`, `false`";
  if (key.choices.length > 0) return key.choices.map((choice) => `\`${choice}\``).join(", ");
  return key.type === "number" ? "number" : "text";
}

function defaultCell({ default: fallback }: Field): string {
  return fallback === undefined ? "" : `\`${joined(fallback)}\``;
}

/** A list of values as it is typed. */
function joined(value: unknown): unknown {
  return Array.isArray(value) ? value.join("+") : value;
}

function titleOf({ group = "Options" }: Field): string {
  return group;
}

function argumentRow(field: Field, width: number): string {
  return row(`${" ".repeat(indent)}${field.key}`, field.help, width);
}

function innerRow({ name, summary }: Pick<Command, "name" | "summary">, width: number): string {
  return row(`${" ".repeat(indent)}${name.split(" ").at(-1)}`, summary, width);
}

function optionRow(field: Field, width: number): string {
  const name = field.default === true ? flagName(`no-${field.key}`) : flagName(field.key);
  const value = field.type === "boolean" ? "" : ` <${shortValue(field)}>`;
  return row(`${" ".repeat(indent)}${name}${value}`, helpOf(field), width);
}

function keysOf(field: Field, width: number): string {
  const shown = new Set<string>();
  const forms = field.forms.map((form) => {
    const fresh = form.keys.filter((key) => !shown.has(key.key + key.help));
    const known = form.keys.filter((key) => shown.has(key.key + key.help)).map(({ key }) => key);
    for (const key of fresh) shown.add(key.key + key.help);
    const shift = form.name === undefined ? indent : 2 * indent;
    return [
      form.name === undefined ? "" : wrapped(`${form.name}: ${form.help}`, indent, width),
      ...fresh.map((key) => keyRow(key, shift, width)),
      known.length === 0 ? "" : wrapped(`and ${known.join(", ")} as above`, shift, width),
    ].join("");
  });
  return `Keys of ${flagName(field.key)}:\n${forms.join("")}`;
}

function keyRow(key: Field, shift: number, width: number): string {
  const value = key.type === "boolean" ? (key.default === true ? "=false" : "") : `=${shortValue(key)}`;
  return row(`${" ".repeat(shift)}${key.key}${value}`, helpOf(key, { isInner: true }), width);
}

function shortValue(field: Field): string {
  const value = valueName(field);
  return field.choices.length > 0 && value.length > maxChoices ? "choice" : value;
}

function helpOf(field: Field, { isInner = false } = {}): string {
  const { help, isList, type, head, choices, isRequired = false } = field;
  const fallback = isInner && isList ? joined(field.default) : field.default;
  const told = shortValue(field) === "choice" ? ` One of ${choices.join(", ")}.` : "";
  const single = type === "number" ? " Separated by commas." : " May be repeated.";
  const repeat = isList ? (isInner ? " Joined by +." : single) : "";
  const usual = head !== undefined && isValues(fallback) ? fallback[head] : fallback;
  const isTold = usual !== undefined && typeof usual !== "boolean" && !isValues(usual);
  return `${sentence(help)}${isRequired ? " Required." : ""}${told}${repeat}${isTold ? ` (default: ${JSON.stringify(usual)})` : ""}`;
}

/** With a capital letter, unless it begins with a name such as `cpu`, and a period. */
function sentence(help: string): string {
  const begun = /^[a-z]{2,} /.test(help) ? help.slice(0, 1).toUpperCase() + help.slice(1) : help;
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

/** A name and its help beside it, or below it where the name is long. */
function row(term: string, help: string, width: number): string {
  const column = Math.min(termWidth, Math.floor(width / 2));
  const body = wrapped(help, column, width);
  if (term.length + 2 > column) return `${term}\n${body}`;
  return `${term.padEnd(column)}${body.trimStart()}`;
}

/** Words in lines no longer than a width, each line indented. */
function wrapped(text: string, shift: number, width: number): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && shift + line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line].map((each) => `${" ".repeat(shift)}${each}\n`).join("");
}
