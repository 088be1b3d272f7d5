/** The `decoder` of a tokenizer.json, turned into a table of bytes so that text can be streamed token by token. */
import { SeekError } from "../../../base/errors.ts";
import { bytesOfByteLevel } from "../byte-alphabet.ts";
import { checkGrowth, checkStages, mostCharacters } from "../patterns/growth.ts";
import { type Lead, PieceTable } from "../pieces.ts";
import type { Component } from "./component.ts";

/** A decoder, flattened: how one token becomes bytes and what happens at the start of a text. */
interface Decoding {
  readonly bytesOf: (token: string) => Uint8Array;
  readonly lead: Lead;
}

const encoder = new TextEncoder();
const keep: Lead = { scope: "token", maxSpaces: 0 };
const firstSpace: Lead = { scope: "token", maxSpaces: 1 };

/** English clean-up of the WordPiece decoder: no space before these. */
const tight = new Set([" .", " ?", " !", " ,", " n't", " 'm", " 's", " 've", " 're"]);

function wordPiece(component: Component): Decoding {
  const prefix = String(component.prefix ?? "##");
  const bytesOf = (token: string): Uint8Array => {
    if (prefix !== "" && token.startsWith(prefix)) return encoder.encode(token.slice(prefix.length));
    const spaced = ` ${token}`;
    return encoder.encode(component.cleanup !== false && tight.has(spaced) ? token : spaced);
  };
  return { bytesOf, lead: firstSpace };
}

function metaspace(component: Component): Decoding {
  const replacement = String(component.replacement ?? "\u2581");
  const isPrepended = component.add_prefix_space !== false && component.prepend_scheme !== "never";
  return {
    bytesOf: (token) => encoder.encode(token.replaceAll(replacement, " ")),
    lead: isPrepended ? { scope: "token", maxSpaces: Number.POSITIVE_INFINITY } : keep,
  };
}

function byteFallback(token: string): Uint8Array {
  const hex = /^<0x([0-9A-Fa-f]{2})>$/.exec(token)?.[1];
  return hex === undefined ? encoder.encode(token) : Uint8Array.of(Number.parseInt(hex, 16));
}

/** `Replace` with a literal pattern: the one form that works token by token. */
function replacer(component: Component): (token: string) => string {
  const pattern = (component.pattern as { String?: unknown } | undefined)?.String;
  if (typeof pattern !== "string") {
    throw new SeekError(
      "ERR_FORMAT",
      `decoder Replace: expected a String pattern, got ${JSON.stringify(component.pattern)}`,
    );
  }
  const content = String(component.content ?? "");
  return (token) => token.replaceAll(pattern, () => content);
}

function stripLead(component: Component): Lead {
  if (component.content === " " && component.stop === 0)
    return { scope: "text", maxSpaces: Number(component.start) };
  throw new SeekError(
    "ERR_FORMAT",
    `decoder Strip: expected spaces at the start, got ${JSON.stringify(component)}`,
  );
}

/** Replace, ByteFallback, Fuse, Strip in a row, as Llama 2 and Gemma have them, or a single decoder. */
function sequence(components: readonly Component[]): Decoding {
  if (components.length === 1) return decodingOf(components[0] as Component);
  let write = (token: string): string => token;
  let bytesOf = (token: string): Uint8Array => encoder.encode(token);
  let lead = keep;
  checkStages("decoder", components.length);
  for (const component of components) {
    if (component.type === "Replace") {
      const [before, replace] = [write, replacer(component)];
      write = (token) => {
        const replaced = replace(before(token));
        checkGrowth("decoder Replace", replaced.length, mostCharacters(token));
        return replaced;
      };
    } else if (component.type === "ByteFallback") bytesOf = byteFallback;
    else if (component.type === "Strip") lead = stripLead(component);
    else if (component.type === "Metaspace") return decodingOf(component);
    else if (component.type !== "Fuse") throw unknownDecoder(component);
  }
  return { bytesOf: (token) => bytesOf(write(token)), lead };
}

function unknownDecoder(component: Component): SeekError {
  const known = "ByteLevel, WordPiece, Metaspace, Replace, ByteFallback, Fuse, Strip";
  return new SeekError("ERR_FORMAT", `decoder: expected one of ${known}, got ${component.type}`);
}

function decodingOf(component: Component | null): Decoding {
  if (component === null) return { bytesOf: (token) => encoder.encode(` ${token}`), lead: firstSpace };
  switch (component.type) {
    case "ByteLevel":
      return { bytesOf: (token) => bytesOfByteLevel(token) ?? encoder.encode(token), lead: keep };
    case "WordPiece":
      return wordPiece(component);
    case "Metaspace":
      return metaspace(component);
    case "Sequence":
      return sequence(component.decoders as Component[]);
    default:
      return sequence([component, { type: "Fuse" }]);
  }
}

/**
 * Makes the table of bytes for a vocabulary.
 *
 * @param decoder the `decoder` of tokenizer.json; null joins tokens with a space
 * @param tokens the token of each id
 * @throws ERR_FORMAT for a decoder that does not work token by token
 */
export function pieceTable(decoder: Component | null, tokens: readonly (string | undefined)[]): PieceTable {
  const { bytesOf, lead } = decodingOf(decoder);
  const bytes = tokens.map((token) => (token === undefined ? undefined : bytesOf(token)));
  return new PieceTable(bytes, lead);
}
