/** JSON of values that may be large, written in slices: what that takes depends on the bound, not on the value. */

import { SeekError } from "../errors.ts";
import { breathe } from "./breathe.ts";

/** Characters of a text that are written at once. */
const sliceLength = 1 << 14;

/** Pieces that are written between two turns of others. */
const slicePieces = 16;

/**
 * The JSON of a value, letting others have their turn while it is written.
 *
 * @param value - of plain objects, lists, texts and what else JSON holds
 * @param most - characters. @default any number
 * @returns as JSON.stringify gives it; undefined where it has more characters
 * @throws ERR_ARGUMENT for a number that JSON has none for; what JSON.stringify throws
 */
export async function jsonText(value: unknown, most = Number.POSITIVE_INFINITY): Promise<string | undefined> {
  let [text, numPieces] = ["", 0];
  for (const piece of piecesOf("", value)) {
    text += piece;
    if (text.length > most) return undefined;
    numPieces += 1;
    if (numPieces % slicePieces === 0) await breathe();
  }
  return text;
}

/** Characters of a block. */
const blockLength = 1 << 16;

/**
 * The JSON of a value as bytes that can be handed to another thread without a copy, letting others have their turn.
 *
 * @returns blocks, each with memory of its own
 * @throws as {@link jsonText} does
 */
export async function jsonBlocks(value: unknown): Promise<Uint8Array<ArrayBuffer>[]> {
  const [encoder, blocks] = [new TextEncoder(), [] as Uint8Array<ArrayBuffer>[]];
  let text = "";
  for (const piece of piecesOf("", value)) {
    text += piece;
    if (text.length < blockLength) continue;
    blocks.push(encoder.encode(text));
    text = "";
    await breathe();
  }
  return [...blocks, encoder.encode(text)];
}

/** The value of blocks, which takes as long as it is large. */
export function valueOfBlocks(blocks: readonly Uint8Array[]): unknown {
  return JSON.parse(Buffer.concat(blocks).toString());
}

function* piecesOf(key: string, given: unknown): Generator<string> {
  const value = hasOwnJson(given) ? given.toJSON(key) : given;
  if (typeof value === "string" && value.length > sliceLength) yield* textPieces(value);
  else if (Array.isArray(value)) yield* listPieces(value);
  else if (typeof value === "object" && value !== null) yield* objectPieces(value);
  else if (typeof value === "number" && !Number.isFinite(value))
    throw new SeekError("ERR_ARGUMENT", `"${key}": expected a number of JSON, got ${value}`);
  else yield JSON.stringify(value) ?? "null";
}

function* textPieces(text: string): Generator<string> {
  yield '"';
  for (let at = 0; at < text.length; at += sliceLength)
    // A pair that is cut in two is written as two escapes, which read as the pair.
    yield JSON.stringify(text.slice(at, at + sliceLength)).slice(1, -1);
  yield '"';
}

function* listPieces(list: readonly unknown[]): Generator<string> {
  yield "[";
  for (let i = 0; i < list.length; i++) {
    if (i > 0) yield ",";
    yield* piecesOf(String(i), list[i]);
  }
  yield "]";
}

function* objectPieces(holder: object): Generator<string> {
  let separator = "{";
  for (const [key, value] of Object.entries(holder)) {
    if (["undefined", "function", "symbol"].includes(typeof value)) continue;
    yield `${separator}${JSON.stringify(key)}:`;
    yield* piecesOf(key, value);
    separator = ",";
  }
  yield separator === "{" ? "{}" : "}";
}

interface OwnJson {
  toJSON(key: string): unknown;
}

function hasOwnJson(value: unknown): value is OwnJson {
  return typeof value === "object" && value !== null && typeof (value as OwnJson).toJSON === "function";
}
