/** Writes calls as a model does, for prompts of models whose chat template cannot. */
import type { CallForm } from "./reply-format.ts";

/** A call of a function. */
export interface WrittenCall {
  readonly name: string;
  /** JSON text of an object. */
  readonly arguments: string;
}

/** Calls as a model of this form writes them. */
export function writeCalls(form: CallForm, calls: readonly WrittenCall[]): string {
  const { all = { begin: "", end: "" }, begin, end, separator, isList = false } = form;
  const written = calls.map((call, i) => writeCall(form, call, i));
  if (form.kind !== "object" || isList) {
    const [open, close] = isList ? [`${begin}[`, `]${end}`] : ["", ""];
    return `${all.begin}${open}${written.join(separator)}${close}${all.end}`;
  }
  const [open, close] = form.isBare === true ? ["", ""] : around(form);
  return written.map((each) => `${open}${each}${close}`).join(separator);
}

/** Marks in angle brackets stand on lines of their own. */
function around({ begin, end, separator }: CallForm): readonly [string, string] {
  const isBlock = separator === "\n";
  return isBlock ? [`${begin}\n`, `\n${end}`] : [begin, end];
}

function writeCall(form: CallForm, { name, arguments: args }: WrittenCall, index: number): string {
  if (form.kind === "parameters") return parameters(form, name, args);
  if (form.kind === "named") {
    const { before = "", between = "", behind = "" } = form.words ?? {};
    return `${form.begin}${before}${name}${between}${args}${behind}${form.end}`;
  }
  const { nameKey = "name", argumentsKey = "arguments", idKey } = form;
  const id = idKey === undefined ? "" : `"${idKey}": "${index}", `;
  return `{${id}"${nameKey}": ${JSON.stringify(name)}, "${argumentsKey}": ${args}}`;
}

function parameters(form: CallForm, name: string, args: string): string {
  const [open, close] = around(form);
  const elements = Object.entries(JSON.parse(args) as Readonly<Record<string, unknown>>).map(
    ([key, value]) =>
      `<parameter=${key}>\n${typeof value === "string" ? value : JSON.stringify(value)}\n</parameter>\n`,
  );
  return `${open}<function=${name}>\n${elements.join("")}</function>${close}`;
}
