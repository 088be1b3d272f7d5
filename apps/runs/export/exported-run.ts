/** A run's folder as exporters read it. */
import { basename, resolve } from "node:path";
import { unpackFloats, unpackIds } from "../../../lib/data/logs/packed-numbers.ts";
import { Detokenizer } from "../../../lib/text/tokenizers/detokenizer.ts";
import type { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import { optionsByPath } from "../run-config.ts";
import type { RunFolder } from "../run-folder.ts";
import type { LoggedSegment, LoggedTrajectory } from "../trajectories/logged-trajectory.ts";
import { Epochs } from "./epochs.ts";
import type {
  ExportedMetrics,
  ExportedRun,
  ExportedSegment,
  ExportedToken,
  ExportedTrajectory,
  TokenCounts,
} from "./exported.ts";

/** What is known besides the folder. */
interface RunExportOptions {
  /** For the texts of single tokens. @default they have none */
  readonly tokenizer?: Tokenizer | undefined;
}

/**
 * Reads a run as far as it is written now.
 *
 * @param run - its folder
 * @param options - `tokenizer` of its model
 * @throws ERR_IO
 */
export async function exportedRun(run: RunFolder, options: RunExportOptions = {}): Promise<ExportedRun> {
  const { state, changedAt } = await run.status();
  const config = await run.config();
  await run.trajectories.refresh();
  const values = optionsByPath(config).map(({ path, value }) => [path, JSON.parse(value) as unknown]);
  return {
    name: basename(resolve(run.folder)),
    kind: "training",
    model: typeof config?.model === "string" ? config.model : "",
    options: Object.fromEntries(values),
    hasEnded: state !== "live",
    endedAt: new Date(changedAt),
    metrics: () => metricsOf(run),
    trajectories: () => trajectoriesOf(run, options, 0),
    lastTrajectories: () => trajectoriesOf(run, options, firstOfLastStep(run)),
  };
}

async function* metricsOf({ metrics }: RunFolder): AsyncGenerator<ExportedMetrics> {
  for (let row = 0; row < metrics.numRows; row += 1) {
    yield metrics.numbers(row);
  }
}

function firstOfLastStep({ trajectories: { numRows, columns } }: RunFolder): number {
  const last = columns.step.at(numRows - 1);
  let first = numRows;
  while (first > 0 && columns.step.at(first - 1) === last) first -= 1;
  return first;
}

async function* trajectoriesOf(
  { trajectories }: RunFolder,
  { tokenizer }: RunExportOptions,
  first: number,
): AsyncGenerator<ExportedTrajectory> {
  const epochs = new Epochs();
  for (let row = first; row < trajectories.numRows; row += 1) {
    const logged = await trajectories.row(row);
    yield trajectoryOf(logged, { ...epochs.next(logged.id.replace(/#\d+$/, "")), tokenizer });
  }
}

function trajectoryOf(
  logged: LoggedTrajectory,
  { questionId, epoch, tokenizer }: Pick<ExportedTrajectory, "questionId" | "epoch"> & RunExportOptions,
): ExportedTrajectory {
  const { step, id, question, answers, answer, stop, rounds, queries, failures = [], segments } = logged;
  return {
    ...{ step, id, questionId, epoch, question, answers, answer, stop, rounds, queries, failures },
    scores: { reward: logged.reward, em: logged.em ?? null },
    numTokens: countsOf(segments),
    segments: segments.map((segment) => segmentOf(segment, tokenizer)),
  };
}

function countsOf(segments: readonly LoggedSegment[]): TokenCounts {
  const count = (wanted: LoggedSegment["kind"]): number =>
    segments.reduce((sum, { kind, tokens }) => sum + (kind === wanted ? tokens : 0), 0);
  return { prompt: count("prompt"), generated: count("policy"), observed: count("observation") };
}

function segmentOf(segment: LoggedSegment, tokenizer: Tokenizer | undefined): ExportedSegment {
  const { kind, text } = segment;
  if (tokenizer === undefined || kind !== "policy") return { kind, text };
  return { kind, text, tokens: () => tokensOf(segment, tokenizer) };
}

/** The texts of the tokens one by one; undefined where they are not those of the segment. */
function tokensOf(
  { text, ids: packed, logprobs }: LoggedSegment,
  tokenizer: Tokenizer,
): ExportedToken[] | undefined {
  if (packed === undefined || logprobs === undefined) return undefined;
  const ids = unpackIds(packed);
  if (ids.some((id) => id < 0 || id >= tokenizer.vocabSize)) return undefined;
  const detokenizer = new Detokenizer(tokenizer);
  const texts = Array.from(ids, (id) => detokenizer.push([id]));
  const whole = texts.join("");
  // A tokenizer that drops the blank before the first word has done so here, in the middle of a text.
  if (!text.endsWith(whole)) return undefined;
  const before = text.slice(0, text.length - whole.length);
  return [...unpackFloats(logprobs, ids.length)].map((logprob, i) => ({
    ...{ logprob, text: (i === 0 ? before : "") + texts[i] },
  }));
}
