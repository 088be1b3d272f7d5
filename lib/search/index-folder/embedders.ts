/** What turns an index's passages and queries into vectors. */

import { resolve } from "node:path";
import { optionsOf } from "../../base/check-options.ts";
import { SeekError } from "../../base/errors.ts";
import { isSigned, signIfPossible } from "../../base/files/signature.ts";
import type { Analyser } from "../../text/analysis/words.ts";
import { indexedText } from "../corpus/passage.ts";
import type { PassageStore } from "../corpus/passage-store.ts";
import type { EmbedOptions } from "../embed/embedder.ts";
import { Encoder, type EncoderOptions, encoderKinds } from "../embed/encoder.ts";
import { HashedEmbedder } from "../embed/hashed-embedder.ts";
import { type EmbedderSettings, findManifest } from "./manifest.ts";

/** A neural encoder: its Hugging Face folder, and what that does not say or says otherwise. */
export interface EncoderChoice extends EncoderOptions {
  readonly path: string;
}

/** Of an option that is an {@link EncoderChoice}. */
export const encoderKind = optionsOf<EncoderChoice>({ ...encoderKinds, path: "string" }, ["path"]);

/** Passages of a store by number. */
export interface StoredRange {
  readonly store: PassageStore;
  readonly first: number;
  readonly count: number;
}

/** An embedder that reads passages where they are stored. */
export interface FolderEmbedder {
  readonly dim: number;
  /** f32 [count, dim], row-major. */
  embedRange(range: StoredRange, options?: EmbedOptions): Promise<Float32Array>;
  /** f32 [Q, dim], row-major. */
  embedQueries(texts: readonly string[], options?: EmbedOptions): Promise<Float32Array>;
  close(): void;
}

/** Where the embedder of an index is, on this machine. */
export interface EmbedderPlace {
  /** The file of a hashed embedder. */
  readonly hashed: string;
  /** What that one was fitted with. */
  readonly analyser: Analyser;
  /** Checks every byte of that file, and that an encoder is the one that the index was built with. */
  readonly verify: boolean;
  /** The folder of an encoder, unless it is where it was when the index was built. */
  readonly encoder?: string | undefined;
  /** What an encoder runs on. @default "cpu" */
  readonly device?: string | undefined;
}

function fromHashed(embedder: HashedEmbedder): FolderEmbedder {
  return {
    dim: embedder.dim,
    embedRange: (range, options) => embedder.embedPassages(range, options),
    embedQueries: (texts, options) => embedder.embedQueries(texts, options),
    close: () => embedder.close(),
  };
}

function fromEncoder(encoder: Encoder): FolderEmbedder {
  return {
    dim: encoder.dim,
    embedRange: async ({ store, first, count }, options) => {
      const passages = await store.getMany(Int32Array.from({ length: count }, (_, i) => first + i));
      return encoder.embedPassages(passages.map(indexedText), options);
    },
    embedQueries: (texts, options) => encoder.embedQueries(texts, options),
    close: () => encoder.close(),
  };
}

/** Opens an index's embedder. @throws ERR_IO, ERR_FORMAT, ERR_ARGUMENT for another encoder than the index's */
export async function openEmbedder(
  settings: EmbedderSettings,
  { hashed, analyser, verify, encoder: moved, device = "cpu" }: EmbedderPlace,
): Promise<FolderEmbedder> {
  if (settings.kind === "hashed") {
    if (device !== "cpu")
      throw new SeekError(
        "ERR_ARGUMENT",
        `device: expected cpu, where the hashed embedder runs, got ${device}`,
      );
    return fromHashed(await HashedEmbedder.open(hashed, { verify, analyser }));
  }
  const { kind: _, path, signature: __, dim: ___, fingerprint, ...options } = settings;
  const folder = moved ?? path;
  const encoder = await Encoder.open(folder, { ...options, device });
  try {
    const found = verify ? await encoder.fingerprint() : fingerprint;
    if (found === fingerprint) return fromEncoder(encoder);
    throw new SeekError(
      "ERR_ARGUMENT",
      `${folder}: expected the encoder that the index was built with, ${fingerprint.slice(0, 12)}, got ${found.slice(0, 12)}`,
    );
  } catch (error) {
    encoder.close();
    throw error;
  }
}

const signedPath = (path: string): string => JSON.stringify(["seekrl encoder", path]);

/**
 * The encoder that an index names outside of its folder.
 *
 * @param folder - of the index
 * @returns undefined without one, and for one that a command of this user named
 * @throws ERR_FORMAT when its manifest is damaged; ERR_IO
 */
export async function foreignEncoder(folder: string): Promise<string | undefined> {
  const embedder = (await findManifest(folder))?.settings.dense?.embedder;
  if (embedder?.kind !== "encoder") return undefined;
  const { path, signature } = embedder;
  return signature !== undefined && (await isSigned(signedPath(path), signature)) ? undefined : path;
}

/** What an index has to remember of an encoder. @throws as {@link Encoder.open} */
export async function encoderSettings({ path, ...options }: EncoderChoice): Promise<EmbedderSettings> {
  await using encoder = await Encoder.open(path, options);
  const { pooling, normalise, queryPrefix, passagePrefix, maxTokens } = encoder.settings;
  const fingerprint = await encoder.fingerprint();
  const { dtype = "float32", weights } = options;
  const signature = await signIfPossible(signedPath(resolve(path)));
  return {
    ...{ kind: "encoder", path: resolve(path), signature, dim: encoder.dim, fingerprint, dtype, weights },
    ...{ pooling, normalise, queryPrefix, passagePrefix, maxTokens },
  };
}
