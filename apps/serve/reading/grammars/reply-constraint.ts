/** What a whole reply is held to: reasoning, and then calls, or text of a form. */
import { SeekError } from "../../../../lib/base/errors.ts";
import type { Constraint } from "../../../../lib/engine/constraint/constraint.ts";
import type { CallForm, ReplyFormat } from "../reply-format.ts";
import type { BegunPart } from "../reply-reader.ts";
import { callGrammar, type HeldFunction } from "./call-grammar.ts";

/** What a reply is held to. */
export interface HeldReply {
  readonly functions: readonly HeldFunction[];
  /** Whether the model may call: as it likes, not at all, at least once, or this function once. */
  readonly choice: "auto" | "none" | "required" | { readonly name: string };
  /** Whether there may be more than one call. */
  readonly isParallel: boolean;
  /** What text is held to. */
  readonly constraint?: Constraint | undefined;
  /** What the reply follows: it may have begun the reasoning, or ended it. */
  readonly prompt: string;
  /** Whether the model may reason where the prompt has begun nothing. */
  readonly reasons: boolean;
  /** What the prompt ends within, where the reply goes on with a message. */
  readonly within?: BegunPart | undefined;
}

/** A part of a structural tag. */
type Part = Readonly<Record<string, unknown>>;

const anyText: Part = { type: "any_text" };
/** What stands between reasoning and answer. */
const breaks: Part = { type: "grammar", grammar: 'root ::= ("\\n" ("\\n")?)?' };
/** Text that begins with no object, which would be a call without a mark. */
const noObject: Part = {
  type: "grammar",
  grammar: "root ::= [ \\n\\t]* [^{ \\n\\t] [\\u0001-\\U0010ffff]*",
};

/**
 * The constraint of a whole reply, reasoning included, which is free. Calls are one by one in the form of the model, each to one of
 * the functions; arguments of strict ones meet their schema, those of others do where a grammar can hold to it.
 *
 * @param format - of the model
 * @param held - what is asked
 * @returns nothing where the model is free
 * @throws ERR_ARGUMENT for a function that there is not, and for a strict one whose schema cannot be held to
 */
export function replyConstraint(format: ReplyFormat, held: HeldReply): Constraint | undefined {
  const content = contentOf(format.calls, held);
  if (content === undefined) return undefined;
  const { begin, end } = format.reasoning;
  const prompt = held.prompt.trimEnd();
  const reasoned = (mark: string): Part => {
    const reasoning = { type: "tag", begin: mark, content: anyText, end };
    return { type: "sequence", elements: [reasoning, breaks, content] };
  };
  const { within } = held;
  if (within === "reasoning" || prompt.endsWith(begin)) return { structuralTag: reasoned("") };
  if (!held.reasons || within === "text" || prompt.endsWith(end)) return { structuralTag: content };
  return { structuralTag: { type: "or", elements: [reasoned(begin), content] } };
}

/** What follows the reasoning. */
function contentOf(form: CallForm, held: HeldReply): Part | undefined {
  const { functions, choice, isParallel, constraint } = held;
  const text = constraint === undefined ? undefined : partOf(constraint);
  if (choice === "none" || (choice === "auto" && functions.length === 0)) return text;
  if (choice !== "auto") return calls(form, chosen(functions, choice), isParallel && choice === "required");
  if (text !== undefined) return either(calls(form, functions, isParallel), text);
  const isFree = isParallel && !functions.some(({ strict }) => strict);
  return isFree ? undefined : textWithCalls(form, functions, isParallel);
}

function chosen(
  functions: readonly HeldFunction[],
  choice: "required" | { readonly name: string },
): readonly HeldFunction[] {
  const some = choice === "required" ? functions : functions.filter(({ name }) => name === choice.name);
  if (some.length > 0) return some;
  const expected = choice === "required" ? "a function that can be called" : "one of the functions";
  const got = choice === "required" ? "none" : choice.name;
  throw new SeekError("ERR_ARGUMENT", `tool choice: expected ${expected}, got ${got}`);
}

function calls(form: CallForm, functions: readonly HeldFunction[], areSeveral: boolean): Part {
  return { type: "grammar", grammar: callGrammar(form, { functions, areSeveral }) };
}

const either = (...elements: readonly Part[]): Part => ({ type: "or", elements });

/** Free text in which calls may stand. */
function textWithCalls(form: CallForm, functions: readonly HeldFunction[], isParallel: boolean): Part {
  if (form.isBare === true) return either(calls(form, functions, isParallel), noObject);
  const isOneMark = form.all !== undefined || form.isList === true;
  const begin = form.all?.begin ?? form.begin;
  const behind =
    form.all === undefined ? { ...form, begin: "" } : { ...form, all: { ...form.all, begin: "" } };
  const content = calls(behind, functions, isParallel && isOneMark);
  const tags = [{ type: "tag", begin, content, end: "" }];
  return { type: "triggered_tags", triggers: [begin], tags, stop_after_first: !isParallel };
}

/** A constraint as a part of a larger one. */
function partOf({ jsonSchema, regex, grammar, structuralTag }: Constraint): Part {
  if (jsonSchema !== undefined) return { type: "json_schema", json_schema: jsonSchema };
  if (regex !== undefined) return { type: "regex", pattern: regex };
  if (grammar !== undefined) return { type: "grammar", grammar };
  const { type, format } = structuralTag as Part;
  return (type === "structural_tag" || type === undefined ? format : structuralTag) as Part;
}
