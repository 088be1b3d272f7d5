/** From a corpus to an index folder. */

import { join, resolve } from "node:path";
import { checkOptions, type OptionKinds, optionsOf } from "../../../base/check-options.ts";
import { SeekError, throwIfAborted } from "../../../base/errors.ts";
import type { Analyser } from "../../../text/analysis/words.ts";
import { indexedText, type Passage } from "../../corpus/passage.ts";
import { PassageStore } from "../../corpus/passage-store.ts";
import { HashedEmbedder } from "../../embed/hashed-embedder.ts";
import {
  type BuildPlan,
  boundsOf,
  checkSame,
  findBuildPlan,
  type Part,
  writeBuildPlan,
} from "../build-plan.ts";
import { type Change, changeFolder } from "../change.ts";
import {
  type Corpus,
  type CorpusOptions,
  checkSplit,
  passagesOf,
  requirePassages,
  type Split,
} from "../corpus.ts";
import {
  analyserOf,
  embedderSegment,
  type IndexPart,
  type IndexSettings,
  type Manifest,
} from "../manifest.ts";
import { segmentFiles } from "../segment.ts";
import { checkUniqueIds } from "../unique-ids.ts";
import { buildSegment, fitEmbedder, storePassages } from "./build-segment.ts";
import { isThere, type SegmentWork } from "./build-steps.ts";
import type { OnIndexProgress } from "./progress.ts";
import { type SettingsOptions, settingsKinds, settingsOf } from "./settings.ts";

/** What to build. */
export interface BuildIndexOptions extends SettingsOptions {
  readonly corpus: Corpus;
  /** The folder to write, empty or none yet; an index in it is replaced when the build is done. */
  readonly out: string;
  /** How documents are cut into passages. @default "auto" */
  readonly split?: Split;
  /** Builds a contiguous share of the corpus, to be merged with the others; the corpus must be a path. */
  readonly part?: Part;
  /** Goes on with a build that was interrupted; one that is done is left as it is. @default false */
  readonly resume?: boolean;
  /** Called after every batch. */
  readonly onProgress?: OnIndexProgress;
  readonly signal?: AbortSignal;
}

const optionKinds: OptionKinds<BuildIndexOptions> = {
  corpus: "any",
  out: "string",
  split: checkSplit,
  part: optionsOf<Part>({ index: "number", count: "number" }, ["index", "count"]),
  resume: "boolean",
  onProgress: "function",
  signal: "signal",
  ...settingsKinds,
};

/** Opens stored passages. */
export async function openStore(path: string): Promise<PassageStore> {
  return PassageStore.open(join(path, segmentFiles.passages));
}

function checkPart({ corpus, part }: BuildIndexOptions): void {
  if (part === undefined) return;
  const { index, count } = part;
  if (![index, count].every((value) => Number.isInteger(value) && value >= 1) || index > count)
    throw new SeekError("ERR_RANGE", `part: expected 1/n to n/n, got ${index}/${count}`);
  if (typeof corpus !== "string")
    throw new SeekError("ERR_ARGUMENT", "part: expected a corpus that is a path, since it is read twice");
}

/** Where a part begins in its corpus, which is read once to know. */
async function placeOf(corpus: Corpus, part: Part, options: CorpusOptions): Promise<IndexPart> {
  let total = 0;
  for await (const _ of passagesOf(corpus, options)) total += 1;
  const { first } = boundsOf(part, total);
  return { ...part, first, total };
}

/** The passages of a part. */
async function* partOf(corpus: Corpus, place: IndexPart, options: CorpusOptions): AsyncGenerator<Passage> {
  const { first, end } = boundsOf(place, place.total);
  let at = 0;
  for await (const passage of passagesOf(corpus, options)) {
    if (at >= end) return;
    if (at >= first) yield passage;
    at += 1;
  }
}

// The parts of a corpus are merged later, so all of them learn from the whole corpus and share one embedder.
async function fitOnAll(
  { corpus, ...options }: BuildIndexOptions,
  path: string,
  { dim, analyser }: { readonly dim: number; readonly analyser: Analyser },
): Promise<void> {
  async function* texts(): AsyncGenerator<string> {
    for await (const passage of passagesOf(corpus, options)) yield indexedText(passage);
  }
  const { signal } = options;
  const embedder = await HashedEmbedder.fit(texts(), { dim, analyser, signal });
  await embedder.save(path).finally(() => embedder.close());
}

/** Makes the hashed embedder, where there is to be one and it is not there. */
async function fitHashed(
  options: BuildIndexOptions,
  work: SegmentWork,
  settings: IndexSettings,
): Promise<void> {
  const embedder = settings.dense?.embedder;
  const path = join(work.path, segmentFiles.embedder);
  if (embedder?.kind !== "hashed" || (await isThere(path))) return;
  const fitted = { dim: embedder.dim, analyser: analyserOf(settings) };
  if (options.part) await fitOnAll(options, path, fitted);
  else await fitEmbedder(work, fitted);
}

async function buildFirst(
  { current, name, path }: Change,
  options: BuildIndexOptions,
): Promise<Manifest | undefined> {
  const { corpus, part, resume = false, signal } = options;
  const settings = await settingsOf(options, name);
  const plan: BuildPlan = {
    ...{ format: "seekrl-build", version: 1 },
    corpus: typeof corpus === "string" ? resolve(corpus) : null,
    part: part ?? null,
    split: JSON.stringify(splitPlan(options)),
    settings,
  };
  const begun = resume ? await findBuildPlan(path) : undefined;
  if (begun) checkSame(path, begun, plan);
  else if (resume && current) return checkDone(current, options);
  else await writeBuildPlan(path, plan);
  const place = part && (await placeOf(corpus, part, options));
  if (!(await isThere(join(path, segmentFiles.passages)))) {
    const read = (onShare: (share: number) => void): AsyncGenerator<Passage> =>
      place ? partOf(corpus, place, options) : passagesOf(corpus, { ...options, onShare });
    await storePassages(path, read, options);
  }
  const store = await openStore(path);
  try {
    await checkUniqueIds([{ passages: store, removed: new Int32Array() }]);
    const work = { path, store, onProgress: options.onProgress, signal };
    const hashed = join(path, segmentFiles.embedder);
    await fitHashed(options, work, settings);
    const embedder = { hashed, analyser: analyserOf(settings), verify: true, device: deviceOf(options) };
    const segment = await buildSegment(name, work, { settings, place: embedder });
    return { format: "seekrl-index", version: 2, settings, part: place, segments: [segment] };
  } finally {
    store.close();
  }
}

/** What of the options decides how documents are cut. */
function splitPlan({ split = "auto" }: BuildIndexOptions): unknown {
  if (typeof split === "string" || split === false) return split;
  const { tokenizer, ...plan } = split;
  return { ...plan, vocabulary: tokenizer?.vocabSize ?? 0 };
}

function deviceOf({ dense }: SettingsOptions): string | undefined {
  const embedder = dense ? dense.embedder : undefined;
  return typeof embedder === "object" ? embedder.device : undefined;
}

// The first build of a folder writes segment 1, or a later one where it replaced another index.
async function checkDone(current: Manifest, options: BuildIndexOptions): Promise<undefined> {
  const segment = embedderSegment(current.settings) ?? "1";
  checkSame(options.out, current.settings, await settingsOf(options, segment));
}

/**
 * Builds an index: passages are stored, then indexed by words and by vectors, in memory that does not grow with the
 * texts. The manifest comes last and makes it an index; a build that is killed before leaves what was there, and goes
 * on with `resume`. The same corpus and options give the same bytes, interrupted or not; only a graph that several
 * threads built may differ.
 *
 * @param options corpus, folder, and what to index
 * @returns the manifest
 * @throws ERR_IO, ERR_FORMAT for a corpus that cannot be read or is an empty file; ERR_RANGE, ERR_ARGUMENT for options, a
 * folder of other things, other options than a build to be resumed was begun with, or an id that stands for two
 * passages; ERR_STATE when another process changes the folder; ERR_ABORTED
 * @example
 * await buildIndex({ corpus: "passages.jsonl", out: "index" });
 */
export async function buildIndex(options: BuildIndexOptions): Promise<Manifest> {
  checkOptions("buildIndex", options, optionKinds, ["corpus", "out"]);
  checkPart(options);
  throwIfAborted(options.signal, "index");
  await requirePassages(options.corpus, options);
  const { resume = false } = options;
  const manifest = await changeFolder(options.out, (change) => buildFirst(change, options), {
    resume,
    replace: true,
  });
  return manifest as Manifest;
}
