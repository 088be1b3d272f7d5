/** The `pre_tokenizer` of a tokenizer.json, written so that the library cuts text where the reference does. */
import { SeekError } from "../../../base/errors.ts";
import type { Component } from "./json-decoder.ts";

/** `\w` of the reference's regular expressions; the library's stops at ASCII. */
const kWord = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\u200c\\u200d";
const kPunctuation = "[\\p{P}\\u0021-\\u002F\\u003A-\\u0040\\u005B-\\u0060\\u007B-\\u007E]";

/** A cut that keeps exactly what `regex` matches. */
function keep(regex: string): Component {
  return { type: "Split", pattern: { Regex: regex }, behavior: "Removed", invert: true };
}

/** Cuts at a delimiter. The library itself knows two behaviours: `Isolated` and `Removed`. */
function cut(delimiter: string, behavior: string): Component {
  const other = `(?:(?!${delimiter})[\\s\\S])`;
  switch (behavior) {
    case "Isolated":
    case "Removed":
      return { type: "Split", pattern: { Regex: delimiter }, behavior, invert: false };
    case "Contiguous":
      return keep(`(?:${delimiter})+|${other}+`);
    case "MergedWithPrevious":
      return keep(`${other}*(?:${delimiter})|${other}+`);
    case "MergedWithNext":
      return keep(`(?:${delimiter})${other}*|${other}+`);
    default:
      throw new SeekError("ERR_FORMAT", `pre_tokenizer: expected a known behavior, got ${behavior}`);
  }
}

function split(component: Component): Component {
  const behavior = String(component.behavior);
  if (component.invert === true || behavior === "Isolated") return component;
  const { String: text, Regex: regex } = component.pattern as { String?: string; Regex?: string };
  return cut(regex ?? String(text).replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"), behavior);
}

/** Replaces the parts in which the library differs from the reference. */
export function exactPreTokenizer(component: Component | null): Component | null {
  switch (component?.type) {
    case "Whitespace":
      return keep(`[${kWord}]+|[^${kWord}\\s]+`);
    case "Punctuation":
      return cut(kPunctuation, String(component.behavior ?? "Isolated"));
    case "Digits":
      return cut("\\p{N}", component.individual_digits === true ? "Isolated" : "Contiguous");
    case "Split":
      return split(component);
    case "Sequence":
      return { ...component, pretokenizers: (component.pretokenizers as Component[]).map(exactPreTokenizer) };
    default:
      return component;
  }
}
