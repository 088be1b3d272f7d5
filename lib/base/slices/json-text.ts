/** JSON of values that may be large, written in slices: what that takes depends on the bound, not on the value. */

import { SeekError } from "../errors.ts";
import { breathe } from "./breathe.ts";

/** Characters of a text that are written at once. */
const sliceLength = 1 << 14;

/** Characters of a piece of many small values, about. */
const pieceLength = 1 << 9;

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
  for (const piece of piecesOf(value)) {
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
  let [text, numPieces] = ["", 0];
  for (const piece of piecesOf(value)) {
    text += piece;
    numPieces += 1;
    if (numPieces % slicePieces === 0) await breathe();
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

/** A list or an object of which some items are written. */
interface Open {
  readonly isList: boolean;
  /** Of an object its entries. */
  readonly items: readonly unknown[];
  next: number;
  isFirst: boolean;
}

/** Without recursion: what an item costs does not depend on how deep it stands. */
function* piecesOf(given: unknown): Generator<string> {
  const open: Open[] = [];
  let [text, value] = ["", ownJson("", given)];
  for (;;) {
    if (typeof value === "string" && value.length > sliceLength) {
      yield text;
      yield* textPieces(value);
      text = "";
    } else if (typeof value === "object" && value !== null) {
      open.push(opened(value));
      text += Array.isArray(value) ? "[" : "{";
    } else text += JSON.stringify(value) ?? "null";
    let item = nextItem(open.at(-1));
    for (; item === undefined && open.length > 0; item = nextItem(open.at(-1)))
      text += open.pop()?.isList ? "]" : "}";
    if (item === undefined) break;
    text += item.lead;
    value = item.value;
    if (text.length < pieceLength) continue;
    yield text;
    text = "";
  }
  yield text;
}

function opened(holder: object): Open {
  const isList = Array.isArray(holder);
  return { isList, items: isList ? holder : Object.entries(holder), next: 0, isFirst: true };
}

/** What comes next of a list or an object, and what is written before it. */
function nextItem(open: Open | undefined): { readonly lead: string; readonly value: unknown } | undefined {
  while (open !== undefined && open.next < open.items.length) {
    const at = open.next++;
    const [key, given] = open.isList ? [at, open.items[at]] : (open.items[at] as [string, unknown]);
    const value = ownJson(String(key), given);
    if (!open.isList && ["undefined", "function", "symbol"].includes(typeof value)) continue;
    const separator = open.isFirst ? "" : ",";
    open.isFirst = false;
    return { lead: open.isList ? separator : `${separator}${JSON.stringify(key)}:`, value };
  }
  return undefined;
}

function* textPieces(text: string): Generator<string> {
  yield '"';
  for (let at = 0; at < text.length; at += sliceLength)
    // A pair that is cut in two is written as two escapes, which read as the pair.
    yield JSON.stringify(text.slice(at, at + sliceLength)).slice(1, -1);
  yield '"';
}

/** The value that is written, where an object says that itself. */
function ownJson(key: string, given: unknown): unknown {
  const value = hasOwnJson(given) ? given.toJSON(key) : given;
  if (typeof value !== "number" || Number.isFinite(value)) return value;
  throw new SeekError("ERR_ARGUMENT", `"${key}": expected a number of JSON, got ${value}`);
}

interface OwnJson {
  toJSON(key: string): unknown;
}

function hasOwnJson(value: unknown): value is OwnJson {
  return typeof value === "object" && value !== null && typeof (value as OwnJson).toJSON === "function";
}
