/** The `normalizer` of a tokenizer.json, component by component as the reference library has it. */

import { type NormalForm, normalized } from "../../normal-form.ts";
import { SeekError } from "../../../base/errors.ts";
import { lazySchema, onFirstUse } from "../../../base/on-first-use.ts";
import { checkGrowth, checkStages, mostCharacters } from "../patterns/growth.ts";
import { JsonPattern } from "../patterns/json-pattern.ts";
import { classOf, type UnicodeSet } from "../patterns/unicode.ts";
import { CharsMap } from "../sentencepiece/chars-map.ts";
import { type Component, componentList, parseComponent } from "./component.ts";

/** Text to text. @throws ERR_FORMAT when the text grows too long, or a pattern takes too long */
export type Normalize = (text: string) => string;

/** One component: text to a text of at most `most` characters, where it could make any number of them. */
type Stage = (text: string, most: number) => string;

const flag = lazySchema((z) => z.boolean());
const schemas = lazySchema((z) => ({
  BertNormalizer: z.strictObject({
    type: z.string(),
    clean_text: flag().default(true),
    handle_chinese_chars: flag().default(true),
    strip_accents: flag().nullish(),
    lowercase: flag().default(true),
  }),
  Replace: z.strictObject({ type: z.string(), pattern: z.unknown(), content: z.string() }),
  Prepend: z.strictObject({ type: z.string(), prepend: z.string() }),
  Strip: z.strictObject({ type: z.string(), strip_left: flag(), strip_right: flag() }),
  Precompiled: z.strictObject({ type: z.string(), precompiled_charsmap: z.base64() }),
  Sequence: z.strictObject({ type: z.string(), normalizers: componentList() }),
  plain: z.strictObject({ type: z.string() }),
}));

const setRegex = (name: UnicodeSet, flags = "gu"): RegExp => new RegExp(`[${classOf(name)}]`, flags);

/** Unified ideographs as BERT isolates them: blocks up to extension E, and those of compatibility. */
const ideographs =
  /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/gu;

/** A normal form of the reference's Unicode: code points that came later stand as they are and join with nothing. */
function normalForm(form: NormalForm): Normalize {
  const later = setRegex("unstable", "u");
  const apart = new RegExp(`([${classOf("unstable")}])`, "u");
  return (text) => {
    if (!later.test(text)) return normalized(text, form);
    const parts = text.split(apart);
    return parts.map((part, i) => (i % 2 === 0 ? normalized(part, form) : part)).join("");
  };
}

/** One code point at a time: a sigma at the end of a word is like any other. */
function lowercase(text: string): string {
  if (!/[\u03a3\u0130]/.test(text)) return text.toLowerCase();
  return Array.from(text, (char) => char.toLowerCase()).join("");
}

function bert(component: Component): Normalize {
  const options = parseComponent("normalizer", schemas().BertNormalizer, component);
  const steps: Normalize[] = [];
  if (options.clean_text) {
    const removed = setRegex("bertRemoved");
    steps.push((text) => text.replace(removed, "").replace(/\p{White_Space}/gu, " "));
  }
  if (options.handle_chinese_chars) steps.push((text) => text.replace(ideographs, " $& "));
  if (options.strip_accents ?? options.lowercase) {
    const [decompose, mark] = [normalForm("NFD"), setRegex("bertMark")];
    steps.push((text) => decompose(text).replace(mark, ""));
  }
  if (options.lowercase) steps.push(lowercase);
  return (text) => steps.reduce((current, step) => step(current), text);
}

function replace(component: Component): Stage {
  const { pattern, content } = parseComponent("normalizer", schemas().Replace, component);
  const regex = JsonPattern.parse(pattern);
  return (text, most) => regex.replace(text, content, most);
}

function strip(component: Component): Normalize {
  const { strip_left, strip_right } = parseComponent("normalizer", schemas().Strip, component);
  return (text) => {
    const start = strip_left ? (/^\p{White_Space}*/u.exec(text)?.[0].length ?? 0) : 0;
    let end = text.length;
    while (strip_right && end > start && /\p{White_Space}/u.test(text[end - 1] as string)) end -= 1;
    return text.slice(start, end);
  };
}

const segmenter = onFirstUse(() => new Intl.Segmenter("en", { granularity: "grapheme" }));

/** SentencePiece's table, asked once for each short grapheme and else for each code point. */
function precompiled(component: Component): Stage {
  const { precompiled_charsmap } = parseComponent("normalizer", schemas().Precompiled, component);
  const map = new CharsMap(Buffer.from(precompiled_charsmap, "base64"));
  const ofChar = (char: string): string => map.shortest(char) ?? char;
  return (text, most) => {
    let output = "";
    for (const { segment } of segmenter().segment(text)) {
      const whole = Buffer.byteLength(segment) < 6 ? map.shortest(segment) : undefined;
      output += whole ?? Array.from(segment, ofChar).join("");
      checkGrowth("normalizer Precompiled", output.length, most);
    }
    return output;
  };
}

function plain(component: Component, normalize: Normalize): Normalize {
  parseComponent("normalizer", schemas().plain, component);
  return normalize;
}

function stageOf(component: Component): Stage {
  switch (component.type) {
    case "BertNormalizer":
      return bert(component);
    case "NFC":
    case "NFD":
    case "NFKC":
    case "NFKD":
      return plain(component, normalForm(component.type));
    case "Lowercase":
      return plain(component, lowercase);
    case "StripAccents": {
      const accent = setRegex("accent");
      return plain(component, (text) => text.replace(accent, ""));
    }
    case "Replace":
      return replace(component);
    case "Prepend": {
      const { prepend } = parseComponent("normalizer", schemas().Prepend, component);
      return (text) => (text === "" ? text : prepend + text);
    }
    case "Strip":
      return strip(component);
    case "Precompiled":
      return precompiled(component);
    default:
      throw new SeekError("ERR_FORMAT", `normalizer: ${component.type} is not supported`);
  }
}

/** The components in order, sequences within sequences laid out. */
function flattened(component: Component): Component[] {
  const parts: Component[] = [];
  const pending = [component];
  for (let part = pending.pop(), count = 1; part !== undefined; part = pending.pop(), count += 1) {
    checkStages("normalizer", count);
    if (part.type !== "Sequence") parts.push(part);
    else {
      const { normalizers } = parseComponent("normalizer", schemas().Sequence, part);
      checkStages("normalizer", normalizers.length);
      pending.push(...normalizers.toReversed());
    }
  }
  return parts;
}

/**
 * Builds a normaliser.
 *
 * @throws ERR_FORMAT naming a component that is unknown or malformed, or when there are too many
 */
export function normalizerOf(component: Component): Normalize {
  const stages = flattened(component).map((part) => [part.type, stageOf(part)] as const);
  return (text) => {
    const most = mostCharacters(text);
    let current = text;
    for (const [type, stage] of stages) {
      current = stage(current, most);
      checkGrowth(`normalizer ${type}`, current.length, most);
    }
    return current;
  };
}
