/** Regular expressions of a tokenizer.json: in Oniguruma's syntax, with the reference's Unicode, and in bounded time. */
import type * as Tokenizers from "@huggingface/tokenizers";
import { SeekError } from "../../../base/errors.ts";
import { lazyPackage } from "../../../base/on-first-use.ts";
import { withinTime } from "../../within-time.ts";
import { checkGrowth } from "./growth.ts";
import { checkCost } from "./pattern-cost.ts";
import { classOf, isUnicodeSet } from "./unicode.ts";

/** A part of a text, and whether the pattern matches it. */
export interface Stretch {
  readonly text: string;
  readonly isMatch: boolean;
}

/** Up to so many characters a pattern of bounded cost ends in well under a second. */
const maxUnwatchedLength = 1000;
/** Time for longer texts: patterns in use need a few milliseconds for 100,000 characters. */
const deadlineMs = (length: number): number => 1000 + length / 500;

const unsupported: readonly (readonly [RegExp, string])[] = [
  [/\(\?>/, "an atomic group"],
  [/(?<!\\)[*+?}]\+/, "a possessive quantifier"],
  [/\\[GKRXNO]/, "an escape that JavaScript lacks"],
  [/\(\?[a-zA-Z-]*\)/, "flags that last to the end"],
  [/\(\?(?!i:)[a-zA-Z-]+:/, "flags other than i"],
  [/\\[1-9kg]/, "a reference to a group"],
];

const tokenizers = lazyPackage<typeof Tokenizers>("@huggingface/tokenizers");

/** The library's translation to JavaScript, which it gives for the pattern of a Split. */
function translate(regex: string): string {
  const split = { type: "Split", pattern: { Regex: regex }, behavior: "Isolated", invert: false };
  const model = { type: "WordPiece", vocab: {}, unk_token: "", continuing_subword_prefix: "##" };
  const json = { added_tokens: [], normalizer: null, pre_tokenizer: split, model };
  const library = new (tokenizers().Tokenizer)({ ...json, post_processor: null, decoder: null }, {});
  return (library.pre_tokenizer as unknown as { pattern: RegExp }).pattern.source;
}

/** Puts the reference's sets in place of \p{L} and the like. */
function pinUnicode(source: string): string {
  let isInClass = false;
  return source.replace(/\\([pP])\{(\w+)\}|\\u\{[^}]*\}|\\.|[[\]]/gs, (part, kind?: string, name = "") => {
    if (part === "[" || part === "]") isInClass = part === "[";
    if (kind === undefined || !isUnicodeSet(name)) return part;
    if (kind === "p") return isInClass ? classOf(name) : `[${classOf(name)}]`;
    return isInClass ? part : `[^${classOf(name)}]`;
  });
}

function literal(text: string): RegExp {
  return new RegExp(text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"), "gu");
}

function compile(regex: string, name: string): RegExp {
  const bare = regex.replace(/\\[pPxu]\{[^}]*\}/g, "x");
  const found = unsupported.find(([shape]) => shape.test(bare));
  if (found !== undefined) throw new SeekError("ERR_FORMAT", `pattern ${name}: ${found[1]} is not supported`);
  try {
    const source = translate(regex);
    checkCost(source);
    return new RegExp(pinUnicode(source), "gu");
  } catch (cause) {
    throw new SeekError("ERR_FORMAT", `pattern ${name}: ${(cause as Error).message}`, { cause });
  }
}

/** A pattern of a tokenizer.json, compiled. */
export class JsonPattern {
  readonly #regex: RegExp;
  readonly #name: string;

  private constructor(regex: RegExp, name: string) {
    this.#regex = regex;
    this.#name = name;
  }

  /**
   * Compiles the object with `String` or `Regex`.
   *
   * @throws ERR_FORMAT when it is neither, cannot be translated exactly, or could take exponential time
   */
  static parse(pattern: unknown): JsonPattern {
    const { String: text, Regex: regex } = (pattern ?? {}) as { String?: unknown; Regex?: unknown };
    const name = JSON.stringify(pattern) ?? "nothing";
    if (typeof text === "string") return new JsonPattern(literal(text), name);
    if (typeof regex === "string") return new JsonPattern(compile(regex, name), name);
    throw new SeekError("ERR_FORMAT", `pattern: expected a String or a Regex, got ${name}`);
  }

  /** A pattern of our own: a JavaScript source that takes linear time. */
  static trusted(source: string): JsonPattern {
    return new JsonPattern(new RegExp(source, "gu"), source);
  }

  /** Cuts a text into what matches and what stands between; no stretch is empty. @throws ERR_FORMAT when it takes too long */
  stretches(text: string): Stretch[] {
    const stretches: Stretch[] = [];
    let end = 0;
    for (const [start, length] of this.#matches(text)) {
      if (start > end) stretches.push({ text: text.slice(end, start), isMatch: false });
      if (length > 0) stretches.push({ text: text.slice(start, start + length), isMatch: true });
      end = start + length;
    }
    if (end < text.length) stretches.push({ text: text.slice(end), isMatch: false });
    return stretches;
  }

  /** The text with `content` in place of every match. @throws ERR_FORMAT over `most` characters, or when it takes too long */
  replace(text: string, content: string, most: number): string {
    let output = "";
    let end = 0;
    const matches = this.#matches(text);
    const removed = matches.reduce((sum, [, length]) => sum + length, 0);
    const total = text.length - removed + matches.length * content.length;
    checkGrowth(`pattern ${this.#name}`, total, most);
    for (const [start, length] of matches) {
      output += text.slice(end, start) + content;
      end = start + length;
    }
    return output + text.slice(end);
  }

  #matches(text: string): readonly (readonly [start: number, length: number])[] {
    if (text.length <= maxUnwatchedLength) return findAll(text, this.#regex);
    const timeout = Math.ceil(deadlineMs(text.length));
    const found = withinTime(timeout, () => findAll(text, this.#regex));
    if (found !== undefined) return found;
    throw new SeekError(
      "ERR_FORMAT",
      `pattern ${this.#name}: took over ${timeout} ms for ${text.length} characters`,
    );
  }
}

function findAll(text: string, regex: RegExp): [number, number][] {
  return Array.from(text.matchAll(regex), (match) => [match.index, match[0].length]);
}
