/** The tokens of a vocabulary by their bytes, and which of them a text may go on with. */
import { SeekError } from "../../../base/errors.ts";
import type { PackedBytes } from "../../vocabulary.ts";
import type { Automaton, State } from "./automaton.ts";

/** Tokens as a tree of bytes; nodes stand before those below them. */
export class TokenTrie {
  readonly #vocabSize: number;
  /** Of each node: its byte, how deep it lies, and the first node that is not below it. */
  readonly #bytes: Uint8Array;
  readonly #depths: Uint16Array;
  readonly #ends: Int32Array;
  /** The first token that ends at a node, and of each token the next one of the same bytes; -1 for none. */
  readonly #tokens: Int32Array;
  readonly #same: Int32Array;
  readonly #packed: PackedBytes;
  /** Bytes of the longest token. */
  readonly longest: number;

  /**
   * @param packed - bytes of each token
   * @param vocabSize - the model's, which may be more
   * @param textless - ids that stand for no text
   */
  constructor(packed: PackedBytes, vocabSize: number, textless: ReadonlySet<number>) {
    const { bytes, starts } = packed;
    // One character a byte.
    const written = Buffer.from(bytes).toString("latin1");
    const texts = Array.from({ length: starts.length - 1 }, (_, id) =>
      written.slice(starts[id], starts[id + 1]),
    );
    const isText = (id: number): boolean => texts[id] !== "" && !textless.has(id);
    const ids = Array.from(texts, (_, id) => id).filter(isText);
    const sorted = ids.sort((a, b) => ((texts[a] as string) < (texts[b] as string) ? -1 : 1));
    const most = sorted.reduce((sum, id) => sum + (texts[id] as string).length, 0);
    this.longest = sorted.reduce((length, id) => Math.max(length, (texts[id] as string).length), 0);
    this.#packed = packed;
    this.#vocabSize = vocabSize;
    this.#same = new Int32Array(starts.length).fill(-1);
    const nodes = { bytes: new Uint8Array(most), depths: new Uint16Array(most), ends: new Int32Array(most) };
    const tokens = new Int32Array(most).fill(-1);
    const open: number[] = [];
    let [numNodes, before] = [0, ""];
    for (const id of sorted) {
      const text = texts[id] as string;
      let shared = 0;
      while (shared < before.length && text.charCodeAt(shared) === before.charCodeAt(shared)) shared += 1;
      while (open.length > shared) nodes.ends[open.pop() as number] = numNodes;
      for (let at = shared; at < text.length; at++) {
        nodes.bytes[numNodes] = text.charCodeAt(at);
        nodes.depths[numNodes] = at;
        open.push(numNodes++);
      }
      const node = open.at(-1) as number;
      this.#same[id] = tokens[node] as number;
      tokens[node] = id;
      before = text;
    }
    for (const node of open) nodes.ends[node] = numNodes;
    this.#bytes = nodes.bytes.slice(0, numNodes);
    this.#depths = nodes.depths.slice(0, numNodes);
    this.#ends = nodes.ends.slice(0, numNodes);
    this.#tokens = tokens.slice(0, numNodes);
  }

  /** The state after a token. @throws ERR_INTERNAL for one that cannot follow */
  after(automaton: Automaton, from: State, id: number): State {
    const { bytes, starts } = this.#packed;
    let state: State | undefined = from;
    for (let at = starts[id] as number; at < (starts[id + 1] as number) && state !== undefined; at++)
      state = automaton.next(state, bytes[at] as number);
    if (state !== undefined) return state;
    throw new SeekError("ERR_INTERNAL", `constraint: id ${id} was drawn although it is masked`);
  }

  /** The tokens that may follow: bit id % 32 of word id / 32, i32 [V / 32]. */
  maskOf(automaton: Automaton, from: State): Int32Array {
    const mask = new Int32Array(Math.ceil(this.#vocabSize / 32));
    const path: State[] = [from];
    for (let node = 0; node < this.#bytes.length; ) {
      const depth = this.#depths[node] as number;
      const next = automaton.next(path[depth] as State, this.#bytes[node] as number);
      if (next === undefined) {
        node = this.#ends[node] as number;
        continue;
      }
      path[depth + 1] = next;
      for (let id = this.#tokens[node] as number; id >= 0; id = this.#same[id] as number)
        mask[id >> 5] = (mask[id >> 5] as number) | (1 << (id & 31));
      node += 1;
    }
    return mask;
  }
}
