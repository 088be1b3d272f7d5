/** What a server that learns has written. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { HistoryRow } from "../../../apps/serve/learn/history.ts";
import type { RecordedChoice } from "../../../apps/serve/learn/record.ts";

async function rowsOf<Row>(out: string, file: string): Promise<Row[]> {
  const lines = (await readFile(join(out, file), "utf8")).trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Row);
}

/** What was done, the first first. */
export async function historyOf(out: string): Promise<(HistoryRow & { readonly time: number })[]> {
  return rowsOf(out, "learnt/history.jsonl");
}

/** Replies by their ids. */
export async function repliesOf(out: string): Promise<ReadonlyMap<string, RecordedChoice>> {
  const rows = await rowsOf<RecordedChoice>(out, "records/replies.jsonl");
  return new Map(rows.map((row) => [row.id, { ...row, segments: row.segments.map(segmentOf) }]));
}

/** Numbers as they were before they were written: the digits of a f32 give the same f32. */
function segmentOf(written: RecordedChoice["segments"][number]): RecordedChoice["segments"][number] {
  const { tokens, logprobs } = written;
  return {
    ...written,
    tokens: Int32Array.from(tokens),
    logprobs: logprobs && Float32Array.from(logprobs),
  };
}

/** Which versions most requests got; all others were tried. */
export function stableVersions(history: readonly HistoryRow[]): ReadonlySet<number> {
  const versions = history.flatMap((row) => {
    if (row.type === "opened") return [row.stable];
    return row.type === "promoted" ? [row.version] : [];
  });
  return new Set(versions);
}

/** What replies were worth, by their ids. */
export async function rewardsOf(out: string): Promise<ReadonlyMap<string, number>> {
  const rows = await rowsOf<{ readonly id: string; readonly reward: number }>(out, "records/feedback.jsonl");
  return new Map(rows.map(({ id, reward }) => [id, reward]));
}
