/** The paths of a run's trajectories: a page of the list, one of them, its group. */
import { z } from "zod";
import type { Call } from "../../serve/http/call.ts";
import type { Route } from "../../serve/http/http-server.ts";
import { Refusal } from "../../serve/http/refusal.ts";
import type { TrajectoryDetail, TrajectoryGroup, TrajectoryPage } from "../api.ts";
import type { Library } from "../runs/library.ts";
import { readOn } from "../runs/read-on.ts";
import { Tokenizers } from "../runs/tokenizers.ts";
import { detailView, Ranges, rowView } from "../runs/trajectory-view.ts";
import type { WatchedRun } from "../runs/watched-run.ts";
import { runOf } from "./run-routes.ts";
import { emText, getRoute, numberText, pageQuery, queryOf, wholeText } from "./studio-route.ts";

/** Samples of a group that are shown side by side. */
const maxSamples = 64;

const listQuery = z.strictObject({
  minReward: numberText.optional(),
  maxReward: numberText.optional(),
  em: emText.optional(),
  stop: z.string().optional(),
  minSearches: wholeText.optional(),
  maxSearches: wholeText.optional(),
  text: z.string().max(1000).optional(),
  fromStep: wholeText.optional(),
  toStep: wholeText.optional(),
  sort: z.enum(["row", "step", "reward", "em", "searches", "turns", "tokens"]).default("row"),
  order: z.enum(["asc", "desc"]).default("asc"),
  ...pageQuery,
});

/** All paths of trajectories. */
export function trajectoryRoutes(library: Library): Route[] {
  const [ranges, tokenizers] = [new WeakMap<WatchedRun, Ranges>(), new Tokenizers()];
  const rangesOf = (run: WatchedRun): Ranges => {
    const known = ranges.get(run) ?? new Ranges();
    ranges.set(run, known);
    return known;
  };
  return [
    getRoute("/runs/:run/trajectories", async (call) => {
      const { opened } = await runOf(library, call);
      return pageOf(opened, queryOf(call, listQuery), rangesOf(opened));
    }),
    getRoute("/runs/:run/trajectories/:row", async (call) => {
      const { opened } = await runOf(library, call);
      return oneOf(opened, await rowIn(opened, call), tokenizers);
    }),
    getRoute("/runs/:run/trajectories/:row/group", async (call) => {
      const { opened } = await runOf(library, call);
      return groupOf(opened, await rowIn(opened, call), tokenizers);
    }),
  ];
}

async function pageOf(
  { folder: { trajectories: log } }: WatchedRun,
  { sort, order, offset, limit, stop, ...filter }: z.output<typeof listQuery>,
  ranges: Ranges,
): Promise<TrajectoryPage> {
  await readOn(log);
  const stops = stop?.split(",").filter((each) => each !== "");
  const { rows } = log.select({ ...filter, stops }, { sort, isDescending: order === "desc" });
  const { readBytes, totalBytes } = log.progress;
  const { revision, numRows: total } = log;
  const shown = [...rows.subarray(offset, offset + limit)];
  const [known, heads] = [ranges.of(log), await log.heads(shown)];
  return {
    ...{ revision, total, matching: rows.length, offset, ranges: known },
    rows: heads.map((head, i) => rowView(shown[i]!, head)),
    ...{ indexedBytes: readBytes, totalBytes },
  };
}

/** @throws Refusal 404 for a row that is not in the log */
async function rowIn({ folder: { trajectories: log } }: WatchedRun, { params }: Call): Promise<number> {
  const row = /^\d{1,15}$/.test(params.row ?? "") ? Number(params.row) : Number.NaN;
  if (!(row < log.numRows)) await readOn(log);
  if (row < log.numRows) return row;
  throw new Refusal("not_found", `row: expected 0 to ${log.numRows - 1}, got ${params.row}`);
}

async function oneOf({ folder }: WatchedRun, row: number, tokenizers: Tokenizers): Promise<TrajectoryDetail> {
  const log = folder.trajectories;
  const { revision } = log;
  return detailView(row, await log.row(row), { revision, tokenizer: await tokenizers.of(folder) });
}

async function groupOf(run: WatchedRun, row: number, tokenizers: Tokenizers): Promise<TrajectoryGroup> {
  const rows = run.folder.trajectories.groupOf(row).slice(0, maxSamples);
  const samples = await Promise.all(rows.map((each) => oneOf(run, each, tokenizers)));
  const rewards = samples.flatMap(({ reward }) => (reward === null ? [] : [reward]));
  const { step = 0, question = "", answers = [] } = samples[0] ?? {};
  return {
    ...{ step, question, answers, samples },
    meanReward: rewards.length === 0 ? null : rewards.reduce((sum, each) => sum + each, 0) / rewards.length,
  };
}
