/** The `pre_tokenizer` of a tokenizer.json, component by component as the reference library has it. */

import { SeekError } from "../../../base/errors.ts";
import { lazySchema } from "../../../base/on-first-use.ts";
import { writeByteLevel } from "../byte-alphabet.ts";
import { JsonPattern, type Stretch } from "../patterns/json-pattern.ts";
import { classOf } from "../patterns/unicode.ts";
import { type Component, componentList, parseComponent } from "./component.ts";

/** A piece of text; `isFirst` where it stands at the very beginning. */
interface Piece {
  readonly text: string;
  readonly isFirst: boolean;
}

/** Cuts one piece, and may rewrite what it cuts. */
export type PreTokenize = (piece: Piece) => Piece[];

const behaviors = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"] as const;
type Behavior = (typeof behaviors)[number];

const type = lazySchema((z) => z.string());
const flag = lazySchema((z) => z.boolean());
const behavior = lazySchema((z) => z.enum(behaviors));
const schemas = lazySchema((z) => ({
  ByteLevel: z.strictObject({
    type: type(),
    add_prefix_space: flag(),
    trim_offsets: flag().optional(),
    use_regex: flag().default(true),
  }),
  Metaspace: z.strictObject({
    type: type(),
    replacement: z.string().refine((text) => [...text].length === 1, "expected one character"),
    prepend_scheme: z.enum(["always", "first", "never"]).optional(),
    add_prefix_space: flag().optional(),
    str_rep: z.string().optional(),
    split: flag().default(true),
  }),
  Split: z.strictObject({ type: type(), pattern: z.unknown(), behavior: behavior(), invert: flag() }),
  Punctuation: z.strictObject({ type: type(), behavior: behavior().default("Isolated") }),
  Digits: z.strictObject({ type: type(), individual_digits: flag() }),
  CharDelimiterSplit: z.strictObject({ type: type(), delimiter: z.string() }),
  Sequence: z.strictObject({ type: type(), pretokenizers: componentList() }),
  plain: z.strictObject({ type: type() }),
}));

/** GPT-2's expression. */
const byteLevelPattern = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;
const whitespace = "\\p{White_Space}";

function joined(stretches: readonly Stretch[]): string {
  return stretches.map(({ text }) => text).join("");
}

/** Puts matches and what stands between them together. */
function merge(stretches: readonly Stretch[], behavior: Behavior): string[] {
  if (behavior === "Removed") return stretches.filter(({ isMatch }) => !isMatch).map(({ text }) => text);
  if (behavior === "Isolated") return stretches.map(({ text }) => text);
  const isNext = behavior === "MergedWithNext";
  const groups: Stretch[][] = [];
  for (const stretch of isNext ? stretches.toReversed() : stretches) {
    const last = groups.at(-1);
    const before = last?.at(-1);
    const isJoined =
      behavior === "Contiguous"
        ? before?.isMatch === stretch.isMatch
        : before !== undefined && stretch.isMatch && !before.isMatch;
    if (isJoined) last?.push(stretch);
    else groups.push([stretch]);
  }
  return isNext ? groups.toReversed().map((group) => joined(group.toReversed())) : groups.map(joined);
}

interface Cut {
  readonly behavior: Behavior;
  readonly isInverted?: boolean;
}

function cut(pattern: JsonPattern, { behavior, isInverted = false }: Cut): PreTokenize {
  return ({ text, isFirst }) => {
    const stretches = pattern
      .stretches(text)
      .map((stretch) => ({ ...stretch, isMatch: stretch.isMatch !== isInverted }));
    const parts = merge(stretches, behavior);
    // What is removed before the first part keeps that from being the beginning.
    const isWhole = behavior !== "Removed" || stretches[0]?.isMatch === false;
    return parts.map((part, i) => ({ text: part, isFirst: isFirst && isWhole && i === 0 }));
  };
}

function cutAt(source: string, behavior: Behavior): PreTokenize {
  return cut(JsonPattern.trusted(source), { behavior });
}

/** Keeps exactly what the expression matches. */
function keep(source: string): PreTokenize {
  return cut(JsonPattern.trusted(source), { behavior: "Removed", isInverted: true });
}

function byteLevel(component: Component): PreTokenize {
  const { add_prefix_space, use_regex } = parseComponent("pre_tokenizer", schemas().ByteLevel, component);
  const words = use_regex
    ? cut(JsonPattern.parse({ Regex: byteLevelPattern }), { behavior: "Isolated" })
    : undefined;
  return ({ text, isFirst }) => {
    const spaced = { text: add_prefix_space && !text.startsWith(" ") ? ` ${text}` : text, isFirst };
    const parts = words?.(spaced) ?? [spaced];
    return parts.map((part) => ({ ...part, text: writeByteLevel(part.text) }));
  };
}

function metaspace(component: Component): PreTokenize {
  const { replacement, prepend_scheme, add_prefix_space, split } = parseComponent(
    "pre_tokenizer",
    schemas().Metaspace,
    component,
  );
  const scheme = prepend_scheme ?? (add_prefix_space === false ? "never" : "always");
  const words = cut(JsonPattern.parse({ String: replacement }), { behavior: "MergedWithNext" });
  return ({ text, isFirst }) => {
    const replaced = text.replaceAll(" ", replacement);
    const isPrepended =
      (scheme === "always" || (scheme === "first" && isFirst)) && !replaced.startsWith(replacement);
    const whole = { text: isPrepended ? replacement + replaced : replaced, isFirst };
    return split ? words(whole) : [whole];
  };
}

function splitter(component: Component): PreTokenize {
  const { pattern, behavior, invert } = parseComponent("pre_tokenizer", schemas().Split, component);
  return cut(JsonPattern.parse(pattern), { behavior, isInverted: invert });
}

function sequence(component: Component): PreTokenize {
  const steps = parseComponent("pre_tokenizer", schemas().Sequence, component).pretokenizers.map(
    preTokenizerOf,
  );
  return (piece) => steps.reduce<Piece[]>((pieces, step) => pieces.flatMap(step), [piece]);
}

function plain(component: Component, preTokenize: PreTokenize): PreTokenize {
  parseComponent("pre_tokenizer", schemas().plain, component);
  return preTokenize;
}

/**
 * Builds a pre-tokenizer.
 *
 * @throws ERR_FORMAT naming a component that is unknown or malformed
 */
export function preTokenizerOf(component: Component): PreTokenize {
  const name = "pre_tokenizer";
  switch (component.type) {
    case "ByteLevel":
      return byteLevel(component);
    case "Metaspace":
      return metaspace(component);
    case "Split":
      return splitter(component);
    case "Sequence":
      return sequence(component);
    case "BertPreTokenizer": {
      const mark = classOf("bertPunctuation");
      return plain(component, keep(`[${mark}]|[^${whitespace}${mark}]+`));
    }
    case "Whitespace":
      return plain(component, keep(`[${classOf("word")}]+|[^${classOf("word")}${whitespace}]+`));
    case "WhitespaceSplit":
      return plain(component, cutAt(whitespace, "Removed"));
    case "Punctuation":
      return cutAt(
        `[${classOf("bertPunctuation")}]`,
        parseComponent(name, schemas().Punctuation, component).behavior,
      );
    case "Digits": {
      const { individual_digits } = parseComponent(name, schemas().Digits, component);
      return cutAt("\\p{N}", individual_digits ? "Isolated" : "Contiguous");
    }
    case "CharDelimiterSplit": {
      const { delimiter } = parseComponent(name, schemas().CharDelimiterSplit, component);
      return cut(JsonPattern.parse({ String: delimiter }), { behavior: "Removed" });
    }
    default:
      throw new SeekError("ERR_FORMAT", `pre_tokenizer: ${component.type} is not supported`);
  }
}
