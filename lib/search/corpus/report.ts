/** Statistics of passages before they are indexed or trained on: repeated, empty and over-long ones. */
import type { Handle } from "../../base/addon/handle.ts";
import { native } from "../../base/addon/native.ts";
import type { NativeCorpusSummary } from "../../base/addon/passages.ts";
import { checkOptions, type OptionKinds, optionsOf } from "../../base/check-options.ts";
import { SeekError, throwIfAborted } from "../../base/errors.ts";
import type { Passage } from "./passage.ts";
import type { PassageStore } from "./passage-store.ts";

/** Counts over a corpus, with the first few examples of each sort; passages by their number, from 0. */
export interface CorpusReport {
  readonly numPassages: number;
  readonly numWords: number;
  readonly numLongestWords: number;
  /** Passages whose text is blank. */
  readonly numEmpty: number;
  readonly empty: readonly number[];
  /** Passages of more than `maxWords` words. */
  readonly numOverLong: number;
  readonly overLong: readonly number[];
  readonly maxWords: number;
  /** Passages whose text an earlier one has, blanks and the case of A to Z aside. */
  readonly numDuplicates: number;
  readonly duplicates: readonly { readonly first: number; readonly again: number }[];
}

/** What is counted. */
export interface ReportOptions {
  /**
   * A passage with more words is over-long: encoders read about 512 tokens and cut off the rest. @default 350
   */
  readonly maxWords?: number;
  /** Examples of each sort, 100 at most. @default 5 */
  readonly numExamples?: number;
}

const reportKinds: OptionKinds<ReportOptions> = { maxWords: "number", numExamples: "number" };

/** Of an option `report`. */
export const reportKind = optionsOf<ReportOptions>(reportKinds);

/** Passages of a store that are read between two looks at the signal. */
const storeBatch = 100_000;

function reportFrom(summary: NativeCorpusSummary, maxWords: number): CorpusReport {
  const { empty, overLong, repeats, numRepeats, ...counts } = summary;
  const duplicates = Array.from({ length: repeats.length / 2 }, (_, i) => ({
    first: repeats[2 * i] ?? 0,
    again: repeats[2 * i + 1] ?? 0,
  }));
  return {
    ...counts,
    empty: [...empty],
    overLong: [...overLong],
    maxWords,
    numDuplicates: numRepeats,
    duplicates,
  };
}

/** Counts passages as they come, in 12 bytes for each. */
export class CorpusCounter {
  readonly #handle: Handle<"corpusStats">;
  readonly #maxWords: number;
  readonly #numExamples: number;

  /** @throws ERR_RANGE */
  constructor({ maxWords = 350, numExamples = 5 }: ReportOptions = {}) {
    if (!Number.isInteger(maxWords) || maxWords < 1)
      throw new SeekError("ERR_RANGE", `maxWords: expected a whole number of at least 1, got ${maxWords}`);
    if (!Number.isInteger(numExamples) || numExamples < 0 || numExamples > 100)
      throw new SeekError(
        "ERR_RANGE",
        `numExamples: expected a whole number from 0 to 100, got ${numExamples}`,
      );
    this.#handle = native().corpusStatsCreate(maxWords);
    this.#maxWords = maxWords;
    this.#numExamples = numExamples;
  }

  /** Counts passages after those already there; wait for it before the next call. @throws ERR_STATE after close */
  async add(passages: readonly Passage[]): Promise<void> {
    // NUL counts as a blank, so that it can stand between texts.
    const texts = passages.map(({ text }) => `${text.includes("\0") ? text.replaceAll("\0", " ") : text}\0`);
    await native().corpusStatsAdd(this.#handle, texts.join(""));
  }

  /** Counts all passages of a store, read natively. @throws ERR_ABORTED, ERR_STATE */
  async addStore(store: PassageStore, { signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    for (let begin = 0; begin < store.size; begin += storeBatch) {
      throwIfAborted(signal, "corpus");
      const end = Math.min(begin + storeBatch, store.size);
      await native().corpusStatsAddStored(this.#handle, store.handle, begin, end);
    }
  }

  /** The counts so far. @throws ERR_STATE after close */
  async report(): Promise<CorpusReport> {
    return reportFrom(await native().corpusStatsSummary(this.#handle, this.#numExamples), this.#maxWords);
  }

  /** Frees the memory; later calls reject with ERR_STATE. */
  close(): void {
    native().corpusStatsClose(this.#handle);
  }
}

/**
 * Counts a store's passages natively.
 *
 * @param store the passages
 * @param options what is over-long, how many examples; `signal`
 * @returns the counts
 * @throws ERR_RANGE, ERR_ABORTED, ERR_STATE when the store is closed
 * @example
 * await writePassageStore("passages.bin", [{ id: "0", title: "Ada", text: "Ada wrote programs." }]);
 * const { numDuplicates, numEmpty } = await reportOf(await PassageStore.open("passages.bin"));
 */
export async function reportOf(
  store: PassageStore,
  options: ReportOptions & { readonly signal?: AbortSignal } = {},
): Promise<CorpusReport> {
  checkOptions("reportOf", options, { ...reportKinds, signal: "signal" });
  const counter = new CorpusCounter(options);
  try {
    await counter.addStore(store, options);
    return await counter.report();
  } finally {
    counter.close();
  }
}

/**
 * A report as lines for people: the counts, and those examples that there are.
 *
 * @example
 * const counter = new CorpusCounter();
 * await counter.add([{ id: "0", title: "", text: "the same" }, { id: "1", title: "", text: "The same" }]);
 * assert.equal(reportLines(await counter.report())[1], "duplicates: 1 (passage 1 = 0)");
 */
export function reportLines(report: CorpusReport): string[] {
  const { numPassages, numWords, numLongestWords, numDuplicates, numEmpty, numOverLong, maxWords } = report;
  const mean = numPassages === 0 ? 0 : numWords / numPassages;
  const pairs = report.duplicates.map(({ first, again }) => `${again} = ${first}`);
  const line = (name: string, count: number, examples: readonly (string | number)[]): string =>
    `${name}: ${count}${examples.length === 0 ? "" : ` (passage ${examples.join(", ")}${count > examples.length ? ", ..." : ""})`}`;
  return [
    `passages: ${numPassages}, of ${mean.toFixed(1)} words on average, ${numLongestWords} at most`,
    line("duplicates", numDuplicates, pairs),
    line("empty", numEmpty, report.empty),
    line(`over ${maxWords} words`, numOverLong, report.overLong),
  ];
}
