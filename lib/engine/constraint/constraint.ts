/** What a span's text may be held to. */
import {
  checkArgument,
  checkOptions,
  type OptionCheck,
  type OptionKinds,
  shownValue,
} from "../../base/check-options.ts";
import { SeekError } from "../../base/errors.ts";

/**
 * Holds a span's text to a form; one of the keys. Tokens that cannot go on in that form are not drawn, and the end of the text
 * (one of `stopIds`) is drawn only where the form is complete. `maxTokens` and stop strings may cut the text off before.
 */
export interface Constraint {
  /**
   * JSON that meets this schema, without properties that it does not name. A keyword that cannot be held to is refused by name;
   * docs/sampling.md lists those that are.
   */
  readonly jsonSchema?: object | undefined;
  /** A regular expression for the whole text; no lookaround, no back-references. */
  readonly regex?: string | undefined;
  /** A grammar in GBNF, whose rule `root` is the whole text. */
  readonly grammar?: string | undefined;
  /**
   * Marks, free text and parts that are held to something, as xgrammar's structural tags say it, schemas as above. Special tokens
   * whose text stands in it may be drawn.
   */
  readonly structuralTag?: object | undefined;
}

const textKind: OptionCheck = (name, value) => {
  checkArgument(name, value, "string");
  if (value !== "") return;
  throw new SeekError("ERR_ARGUMENT", `${name}: expected a string that is not empty, got ""`);
};

const kinds: OptionKinds<Constraint> = {
  jsonSchema: "object",
  regex: textKind,
  grammar: textKind,
  structuralTag: "object",
};

/** Refuses what is no constraint. */
export const constraintKind: OptionCheck = (name, value) => {
  const constraint = checkOptions(name, value as Constraint, kinds);
  const given = Object.values(constraint).filter((each) => each !== undefined);
  if (given.length === 1) return;
  const expected = `one of ${Object.keys(kinds).join(", ")}`;
  throw new SeekError("ERR_ARGUMENT", `${name}: expected ${expected}, got ${shownValue(value)}`);
};

/** @throws ERR_ARGUMENT for a constraint of an engine without a tokenizer, or without ids that end the text */
export function checkConstraint(
  constraint: Constraint | undefined,
  vocabulary: { readonly hasBytes: boolean },
  stopIds: readonly number[] | Int32Array,
): void {
  if (constraint === undefined) return;
  const refuse = (expected: string): never => {
    throw new SeekError("ERR_ARGUMENT", `constraint: expected ${expected}`);
  };
  if (!vocabulary.hasBytes) refuse("an engine that was opened with a tokenizer");
  checkArgument("stopIds", stopIds, "list");
  if (stopIds.length === 0) refuse("stopIds, which end the text, or a tokenizer with eosIds");
}
