/** A corpus split into a file of passages, by a job that resumes after a kill. */
import { rename, rm, stat } from "node:fs/promises";
import { native } from "../../base/addon/native.ts";
import { batchesOf } from "../../base/batches.ts";
import { checkOptions, type OptionKinds } from "../../base/check-options.ts";
import { refusedWrite } from "../../base/disk/refused-write.ts";
import { SeekError, throwIfAborted } from "../../base/errors.ts";
import { writeFileAtomic } from "../../base/files/files.ts";
import { Journal } from "../../base/files/journal.ts";
import { findText } from "../../base/files/regular-file.ts";
import type { Passage } from "./passage.ts";
import { writePassageStore } from "./passage-store.ts";
import { type CorpusFile, corpusFiles, type ReadProgress, readDocuments } from "./read-documents.ts";
import { CorpusCounter, type CorpusReport, type ReportOptions, reportKind } from "./report.ts";
import { DocumentSplitter, type SplitOptions, splitKinds } from "./split-documents.ts";

/** How far a split has come. */
export interface SplitProgress extends ReadProgress {
  readonly numPassages: number;
}

/** What to split, and into what. */
export interface SplitCorpusOptions extends SplitOptions {
  /** A path that `readDocuments` reads. */
  readonly input: string;
  /** The file to write; it appears when all is done. */
  readonly out: string;
  /** JSON Lines, or a passage store. @default "jsonl" */
  readonly form?: "jsonl" | "store";
  /** Go on where an earlier split with the same options was stopped or killed. @default false */
  readonly resume?: boolean;
  /** How much output a kill can cost. @default 16 MiB */
  readonly flushBytes?: number;
  readonly report?: ReportOptions;
  readonly onProgress?: (progress: SplitProgress) => void;
}

const optionKinds: OptionKinds<SplitCorpusOptions> = {
  ...splitKinds,
  input: "string",
  out: "string",
  form: ["jsonl", "store"],
  resume: "boolean",
  flushBytes: "number",
  report: reportKind,
  onProgress: "function",
};

/** What a split made. */
export interface SplitResult {
  readonly numDocuments: number;
  readonly report: CorpusReport;
}

/** How much of the output is on the disk, and of what input and options it is the split. */
interface Progress {
  readonly plan: unknown;
  readonly numDocuments: number;
  readonly numPassages: number;
  readonly numBytes: number;
}

const passagesAtOnce = 1024;

/** What must be the same for a split to go on: the files and how they are cut. */
async function planOf(files: readonly CorpusFile[], options: SplitCorpusOptions): Promise<unknown> {
  const { by = "words", size = 100, overlap = 0, ids = "document", tokenizer } = options;
  const stamps = files.map(async ({ path }) => [path, (await stat(path)).size, (await stat(path)).mtimeMs]);
  return { by, size, overlap, ids, vocabulary: tokenizer?.vocabSize ?? 0, files: await Promise.all(stamps) };
}

function parseProgress(path: string, text: string): Progress {
  try {
    return JSON.parse(text) as Progress;
  } catch (cause) {
    throw new SeekError("ERR_FORMAT", `${path}: not a split's journal: ${(cause as Error).message}`, {
      cause,
    });
  }
}

async function readProgress(path: string, plan: unknown): Promise<Progress | undefined> {
  const text = await findText(path);
  if (text === undefined) return undefined;
  const progress = parseProgress(path, text);
  if (JSON.stringify(progress.plan) === JSON.stringify(plan)) return progress;
  throw new SeekError(
    "ERR_STATE",
    `${path}: the split that was stopped had other files or options: ${JSON.stringify(progress.plan)}; start over without resume`,
  );
}

interface LineSettings {
  readonly progressPath: string;
  readonly plan: unknown;
  readonly flushBytes: number;
  readonly counter: CorpusCounter;
}

/** The lines of a split on their way to the disk. */
class PassageLines {
  numDocuments = 0;
  numPassages = 0;
  readonly #journal: Journal;
  readonly #progressPath: string;
  readonly #plan: unknown;
  readonly #counter: CorpusCounter;
  readonly #flushBytes: number;
  #uncounted: Passage[] = [];
  #counting: Promise<void> = Promise.resolve();
  #lines: Buffer[] = [];
  #numPendingBytes = 0;

  constructor(journal: Journal, { counter, ...settings }: LineSettings) {
    this.#journal = journal;
    this.#progressPath = settings.progressPath;
    this.#plan = settings.plan;
    this.#flushBytes = settings.flushBytes;
    this.#counter = counter;
  }

  /** Takes up what a stopped split left: the lines before its last flush are counted. */
  async resume(partial: string, { numDocuments, numPassages }: Progress): Promise<void> {
    for await (const passages of batchesOf(readDocuments(partial), passagesAtOnce))
      await this.#counter.add(passages);
    this.numDocuments = numDocuments;
    this.numPassages = numPassages;
  }

  /** The passages of the next document. */
  async add(passages: readonly Passage[]): Promise<void> {
    this.numDocuments += 1;
    this.numPassages += passages.length;
    if (passages.length === 0) return;
    const lines = Buffer.from(passages.map((passage) => `${JSON.stringify(passage)}\n`).join(""));
    this.#lines.push(lines);
    this.#numPendingBytes += lines.length;
    this.#uncounted.push(...passages);
    if (this.#uncounted.length >= passagesAtOnce) await this.#count();
    if (this.#numPendingBytes >= this.#flushBytes) await this.flush();
  }

  /** Brings lines and then the progress to the disk. */
  async flush(): Promise<void> {
    const bytes = Buffer.concat(this.#lines);
    this.#lines = [];
    this.#numPendingBytes = 0;
    await this.#journal.append(bytes);
    await this.#journal.sync();
    const { numDocuments, numPassages } = this;
    const { bytes: numBytes } = this.#journal;
    const progress: Progress = { plan: this.#plan, numDocuments, numPassages, numBytes };
    await writeFileAtomic(this.#progressPath, JSON.stringify(progress));
  }

  /** Waits until all is on the disk and counted. */
  async finish(): Promise<void> {
    await this.flush();
    await this.#count();
    await this.#counting;
  }

  /** Counts while the next documents are cut; a failure shows at the next call. */
  async #count(): Promise<void> {
    await this.#counting;
    const passages = this.#uncounted;
    this.#uncounted = [];
    this.#counting = this.#counter.add(passages);
    this.#counting.catch(() => undefined);
  }
}

/** Splits what is not split yet. */
async function splitRest(lines: PassageLines, options: SplitCorpusOptions): Promise<void> {
  const { input, signal, onProgress } = options;
  const splitter = new DocumentSplitter(options, lines.numPassages);
  const report = (progress: ReadProgress): void =>
    onProgress?.({ ...progress, numPassages: lines.numPassages });
  let toSkip = lines.numDocuments;
  for await (const document of readDocuments(input, { signal, onProgress: report })) {
    if (toSkip > 0) toSkip -= 1;
    else await lines.add(splitter.split(document));
  }
  await lines.finish();
}

/** Gives the whole split its form and place. */
async function publish(partial: string, { out, form, signal }: SplitCorpusOptions): Promise<void> {
  if (form !== "store") return rename(partial, out);
  await writePassageStore(out, readDocuments(partial, { signal }), { signal });
  await rm(partial);
}

/** Splits from the beginning, or from where a stopped split came to. */
async function runSplit(options: SplitCorpusOptions, plan: unknown): Promise<SplitResult> {
  const { out, resume = false, flushBytes = 1 << 24 } = options;
  const partial = `${out}.partial`;
  const progressPath = `${out}.journal`;
  // A kill after the output got its place can leave a journal alone.
  const isStopped = resume && (await stat(partial).catch(() => undefined)) !== undefined;
  const before = isStopped ? await readProgress(progressPath, plan) : undefined;
  if (before === undefined) await rm(progressPath, { force: true });
  const counter = new CorpusCounter(options.report);
  const journal = await Journal.open(partial, before?.numBytes ?? 0).catch((cause) => {
    counter.close();
    throw cause;
  });
  try {
    const lines = new PassageLines(journal, { progressPath, plan, flushBytes, counter });
    if (before !== undefined) await lines.resume(partial, before);
    await splitRest(lines, options);
    await publish(partial, options);
    await rm(progressPath, { force: true });
    return { numDocuments: lines.numDocuments, report: await counter.report() };
  } finally {
    await journal.close();
    counter.close();
  }
}

/**
 * Splits a corpus of any size into one file of passages. What is done lies in `OUT.partial` with `OUT.journal`, flushed
 * now and then: a split that was stopped or killed goes on from there with `resume` and ends with the same bytes.
 *
 * @param options what to split, how, and into what
 * @returns how many documents there were, and the report on the passages
 * @throws ERR_IO, ERR_FORMAT, ERR_RANGE, ERR_ARGUMENT; ERR_STATE for `resume` after another split, or while another
 * process splits into the same file; ERR_ABORTED
 * @example
 * const { report } = await splitCorpus({ input: "passages.jsonl", out: "split.jsonl", size: 100 });
 */
export async function splitCorpus(options: SplitCorpusOptions): Promise<SplitResult> {
  checkOptions("splitCorpus", options, optionKinds, ["input", "out"]);
  const { input, out, signal } = options;
  throwIfAborted(signal, "split");
  if ((await stat(out).catch(() => undefined))?.isDirectory()) {
    throw new SeekError("ERR_IO", `${out}: expected the name of a file, got a folder`);
  }
  const plan = await planOf(await corpusFiles(input), options);
  const lock = native().fileLockTake(`${out}.lock`);
  try {
    const result = await runSplit(options, plan);
    await rm(`${out}.lock`, { force: true });
    return result;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).syscall === undefined) throw cause;
    throw refusedWrite(out, cause);
  } finally {
    native().fileLockClose(lock);
  }
}
