/** Calls as grammars: texts in a model's form whose arguments meet the schemas of their functions. */
import { SeekError } from "../../../../lib/base/errors.ts";
import {
  jsonSchemaGrammar,
  jsonSchemaRule,
} from "../../../../lib/engine/constraint/json-schema/json-schema.ts";
import { literal, Rules } from "../../../../lib/engine/constraint/json-schema/rules.ts";
import type { CallableFunction, CallForm } from "../reply-format.ts";
import { parameterRules } from "./parameter-rules.ts";

/** A function that a model may call, held to its schema or not. */
export interface HeldFunction extends CallableFunction {
  /** The arguments meet the schema, or it is refused. @default false: where a grammar cannot hold to it they are any object */
  readonly strict?: boolean | undefined;
}

/** What may be called, and how often. */
export interface Calls {
  readonly functions: readonly HeldFunction[];
  /** Whether there may be more than one call. */
  readonly areSeveral: boolean;
}

/**
 * One or more calls, in GBNF, each naming one of the functions.
 *
 * @param form - of the model
 * @throws ERR_ARGUMENT for a strict function whose schema cannot be held to in this form
 */
export function callGrammar(form: CallForm, { functions, areSeveral }: Calls): string {
  const rules = new Rules();
  const { all = { begin: "", end: "" } } = form;
  const call = rules.either(functions.map((each) => callRule(form, each, rules)));
  const separator = form.isList === true ? rules.comma : literal(form.separator);
  const more = areSeveral ? `(${separator} ${call})*` : "";
  if (form.kind !== "object" || form.isList !== true)
    return rules.grammar(rules.add("calls", `${literal(all.begin)} ${call} ${more} ${literal(all.end)}`));
  const { space } = rules;
  const list = `${literal(form.begin)} ${space} "[" ${space} ${call} ${more} ${space} "]" ${literal(form.end)}`;
  return rules.grammar(rules.add("calls", list));
}

function callRule(form: CallForm, callee: HeldFunction, rules: Rules): string {
  if (form.kind === "parameters") return xmlCall(form, callee, rules);
  const args = argumentsRule(callee, rules);
  const { begin, end, words = { between: "" }, isList = false, isBare = false } = form;
  if (form.kind === "named") {
    const id = words.idMark === undefined ? "" : `${literal(words.idMark)} [A-Za-z0-9]{9}`;
    const before = literal(`${begin}${words.before ?? ""}${callee.name}`);
    return `${before} ${id} ${literal(words.between)} ${args} ${literal(`${words.behind ?? ""}${end}`)}`;
  }
  const { nameKey = "name", argumentsKey = "arguments", idKey } = form;
  const id = idKey === undefined ? "" : `${literal(`"${idKey}": "`)} [0-9]{1,3} ${literal('", ')}`;
  const name = literal(`"${nameKey}": ${JSON.stringify(callee.name)}, "${argumentsKey}": `);
  const [open, close] = isList || isBare ? ["", ""] : around(form);
  return `${literal(`${open}{`)} ${id} ${name} ${args} ${literal(`}${close}`)}`;
}

/** The arguments as JSON. */
function argumentsRule({ parameters = {}, strict = false, name }: HeldFunction, rules: Rules): string {
  const schema = { type: "object", ...parameters };
  try {
    // In rules of its own first: a refusal leaves them incomplete.
    jsonSchemaGrammar(schema);
    return jsonSchemaRule(schema, rules);
  } catch (error) {
    if (strict || !(error instanceof SeekError)) throw inFunction(name, error);
    return jsonSchemaRule({ type: "object" }, rules);
  }
}

function xmlCall(form: CallForm, callee: HeldFunction, rules: Rules): string {
  const [open, close] = around(form);
  try {
    const elements = parameterRules(callee.parameters, { strict: callee.strict ?? false, rules });
    return `${literal(`${open}<function=${callee.name}>\n`)} ${elements} ${literal(`</function>${close}`)}`;
  } catch (error) {
    throw inFunction(callee.name, error);
  }
}

function inFunction(name: string, error: unknown): unknown {
  if (!(error instanceof SeekError)) return error;
  return new SeekError(error.code, `function ${name}: ${error.message}`, { cause: error });
}

/** Marks on lines of their own. */
function around({ begin, end, separator }: CallForm): readonly [string, string] {
  return separator === "\n" ? [`${begin}\n`, `\n${end}`] : [begin, end];
}
