/** Lines of `trajectories.jsonl`: what they hold, those of earlier versions included. */
import type { PackedNumbers } from "../../../lib/data/logs/packed-numbers.ts";
import { exactMatch } from "../../../lib/reward/metrics/metrics.ts";
import type { MemoryRecord } from "../../../lib/rollout/memory.ts";
import type { RecordedPassage, SegmentKind } from "../../../lib/rollout/trajectory.ts";

/** A segment as it is logged. */
export interface LoggedSegment {
  readonly kind: SegmentKind;
  readonly text: string;
  /** How many. */
  readonly tokens: number;
  /** On segments of the policy: versions of the weights and how many tokens each sampled, in order. */
  readonly versionRuns?: readonly (readonly [weightsVersion: number, numTokens: number])[];
  readonly visible?: readonly number[];
  /** With `logTokens`; the others on segments of the policy only. */
  readonly ids?: string;
  readonly logprobs?: PackedNumbers;
  /** The trainer's log-probability less that of the rollout. */
  readonly gaps?: PackedNumbers;
  readonly entropies?: PackedNumbers;
  readonly advantages?: PackedNumbers;
}

/** What stands before the segments. */
export interface LoggedHead {
  readonly step: number;
  /** `<question>#<sample>`. */
  readonly id: string;
  /** Rollouts of a step that answer one question together. */
  readonly group?: number;
  readonly question: string;
  readonly answers: readonly string[];
  readonly answer: string | null;
  readonly reward: number | null;
  readonly rewardFailure?: string;
  readonly em?: number;
  readonly isTrained?: boolean;
  readonly advantage?: number;
  readonly stop: string;
  readonly turns: number;
  readonly rounds: number;
  readonly generatedTokens?: number;
  readonly queries: readonly (readonly string[])[];
  readonly found?: readonly (readonly (readonly RecordedPassage[])[] | null)[];
  readonly failures?: readonly string[];
  readonly weightsVersion: number;
  /** What sampled it, of a pool. */
  readonly worker?: string;
  readonly memory?: MemoryRecord;
}

/** A whole line. */
export interface LoggedTrajectory extends LoggedHead {
  readonly segments: readonly LoggedSegment[];
}

/** Quotation marks within a text are escaped, so that these bytes begin the member and nothing else. */
const segmentsMark = Buffer.from(',"segments":[');

/** How many bytes of a line stand before its segments; all of them where these do not come last. */
export function headBytesOf(line: Buffer): number {
  const bytes = line.indexOf(segmentsMark);
  return bytes < 0 ? line.length : bytes;
}

/**
 * The part of a line before its segments, as {@link headBytesOf} cuts it.
 *
 * @param start - the beginning of a line, or all of it
 * @returns undefined for what is no trajectory, and for a line of an earlier version, which must be read whole
 */
export function headOf(start: Buffer): LoggedHead | undefined {
  const head = parsed(`${start.toString("utf8")}}`) as LoggedHead | undefined;
  return head?.generatedTokens === undefined ? undefined : completed(head);
}

/** A whole line; undefined for one that holds no trajectory. */
export function trajectoryOf(line: Buffer): LoggedTrajectory | undefined {
  const row = parsed(line.toString("utf8")) as LoggedTrajectory | undefined;
  if (row === undefined || !Array.isArray(row.segments)) return undefined;
  const written = row.segments.reduce((sum, { kind, tokens }) => sum + (kind === "policy" ? tokens : 0), 0);
  return { ...completed(row), generatedTokens: row.generatedTokens ?? written };
}

/** Exact match follows from the answer where a line does not tell it. */
function completed<Row extends LoggedHead>(row: Row): Row {
  if (row.em !== undefined) return row;
  return { ...row, em: row.answer === null ? 0 : exactMatch(row.answer, row.answers) };
}

function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isRow = typeof value === "object" && value !== null && "question" in value && "step" in value;
    return isRow ? value : undefined;
  } catch {
    return undefined;
  }
}
