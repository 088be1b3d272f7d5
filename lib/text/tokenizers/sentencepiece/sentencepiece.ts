/** SentencePiece models as a codec: normalise, cut into pieces, fall back to bytes. */
import type { Codec } from "../codec.ts";
import { type Lead, PieceTable } from "../pieces.ts";
import type { SpecialIds } from "../special-ids.ts";
import { bpe, PieceIndex, type PieceSpan, Unigram } from "./sentencepiece-encoder.ts";
import { pieceTypes, type SentencePieceModel } from "./sentencepiece-model.ts";
import { SentencePieceNormalizer, spaceSign } from "./sentencepiece-normalizer.ts";

/** Whether the marks of begin and end stand around a text when special tokens are asked for. */
interface Marks {
  readonly addBos: boolean;
  readonly addEos: boolean;
}

const utf8 = new TextEncoder();

function byteOf(text: string): number {
  return Number.parseInt(text.slice(3, 5), 16);
}

function pieceBytes({ pieces, unkSurface }: SentencePieceModel): Uint8Array[] {
  return pieces.map(({ text, type }) => {
    switch (type) {
      case pieceTypes.control:
        return new Uint8Array(0);
      case pieceTypes.unknown:
        return utf8.encode(unkSurface);
      case pieceTypes.byte:
        return Uint8Array.of(byteOf(text));
      default:
        return utf8.encode(text.replaceAll(spaceSign, " "));
    }
  });
}

function leadOf({ pieces, addDummyPrefix, removeExtraSpaces }: SentencePieceModel): Lead {
  const maxSpaces = removeExtraSpaces ? Number.POSITIVE_INFINITY : addDummyPrefix ? 1 : 0;
  const isText = (type: number): boolean => type !== pieceTypes.unknown && type !== pieceTypes.byte;
  const exempt = new Set([...pieces.keys()].filter((id) => !isText(pieces[id]?.type as number)));
  return { scope: "text", maxSpaces, exempt };
}

/** Unknown stretches become their bytes, or, where the vocabulary has none, one unknown id for all in a row. */
function toIds(
  spans: readonly PieceSpan[],
  { unkId }: SentencePieceModel,
  byteIds: readonly number[],
): number[] {
  const ids: number[] = [];
  let isAfterUnknown = false;
  for (const { text, id } of spans) {
    const isUnknown = id === unkId;
    if (!isUnknown) ids.push(id);
    else if (byteIds.length > 0) for (const byte of utf8.encode(text)) ids.push(byteIds[byte] as number);
    else if (!isAfterUnknown) ids.push(unkId);
    isAfterUnknown = isUnknown;
  }
  return ids;
}

function byteIdsOf({ pieces, hasByteFallback }: SentencePieceModel): number[] {
  const byteIds: number[] = [];
  pieces.forEach(({ text, type }, id) => {
    if (hasByteFallback && type === pieceTypes.byte) byteIds[byteOf(text)] = id;
  });
  return byteIds;
}

/** Ids the model file itself names; -1 means none. */
export function sentencePieceIds({ bosId, eosId, padId }: SentencePieceModel): SpecialIds {
  const known = (id: number): number | undefined => (id < 0 ? undefined : id);
  return { bosId: known(bosId), padId: known(padId), eosIds: eosId < 0 ? [] : [eosId] };
}

/** Builds a codec from a SentencePiece model. Marks such as `</s>` in a text are letters to it, never tokens. */
export function codecFromSentencePiece(model: SentencePieceModel, { addBos, addEos }: Marks): Codec {
  const normalizer = new SentencePieceNormalizer(model);
  const index = new PieceIndex(model);
  const unigram = model.algorithm === "unigram" ? new Unigram(index, model) : undefined;
  const byteIds = byteIdsOf(model);
  const cut = (text: string): PieceSpan[] => unigram?.encode(text) ?? bpe(index, model.unkId, text);
  const controls = [...model.pieces.entries()].filter(([, { type }]) => type === pieceTypes.control);
  return {
    pieces: new PieceTable(pieceBytes(model), leadOf(model)),
    tokens: model.pieces.map(({ text }) => text),
    ids: new Map(model.pieces.map(({ text }, id) => [text, id])),
    specials: new Map(controls.map(([id, { text }]) => [text, id])),
    encode: (text) => toIds(cut(normalizer.normalize(text)), model, byteIds),
    template: {
      prefix: addBos && model.bosId >= 0 ? [model.bosId] : [],
      suffix: addEos && model.eosId >= 0 ? [model.eosId] : [],
    },
  };
}
