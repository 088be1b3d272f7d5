/** Small random models and vocabularies for the engine's tests. */
import type { TokenTable } from "../../lib/engine/vocabulary.ts";
import { Model } from "../../lib/model/model.ts";

/** A decoder small enough to run hundreds of steps a second; large weights make its distributions uneven. */
export function tinyModel({ seed = 1, maxPosition = 512 } = {}): Promise<Model> {
  return Model.create(
    {
      vocabSize: 97,
      hiddenSize: 32,
      intermediateSize: 64,
      numLayers: 2,
      numHeads: 4,
      numKvHeads: 2,
      maxPosition,
      qkvBias: true,
      tieEmbeddings: true,
    },
    { seed, std: 0.3 },
  );
}

/** Token i stands for the printable character 32 + i, the last one for the end of a text. */
export const letters: TokenTable = {
  vocabSize: 97,
  eosIds: [96],
  tokenBytes: (id) => Uint8Array.of(id === 96 ? 0 : 32 + id),
};

/** A prompt of `length` tokens that depends on `salt`. */
export function prompt(length: number, salt = 0): Int32Array {
  return Int32Array.from({ length }, (_, i) => (i * 37 + salt * 11 + 5) % 96);
}
