/** Runs as the SQLite database of a Trackio project: metrics by step, options, trajectories as traces. */
import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import type { Database, Statement } from "node-sqlite3-wasm";
import { SeekError } from "../../../lib/base/errors.ts";
import { checkFilePlace } from "../../../lib/base/files/files.ts";
import type { ExportedMetrics, ExportedRun, ExportedTrajectory } from "./exported.ts";
import { messagesOf } from "./messages.ts";
import { insertConfig, insertMetrics, insertTrace, trackioSchema } from "./trackio-schema.ts";

/** Under which traces stand in Trackio's page. */
const traceKey = "trajectories";

/**
 * Writes a database. Logs have no times of day: each step's is counted back from the last line by the seconds that the
 * steps after it took.
 *
 * @param path - of a file that is not there yet: a project's database may hold the runs of others
 * @param run - a training or an evaluation
 * @throws ERR_STATE when the file is there; ERR_IO
 */
export async function writeTrackio(path: string, run: ExportedRun): Promise<void> {
  if (existsSync(path)) {
    const remedy = "Remedy: another name, or delete it; a project's database may hold other runs";
    throw new SeekError("ERR_STATE", `${path}: there is one already. ${remedy}`);
  }
  await checkFilePlace(path);
  const temporary = `${path}.${process.pid}-0.tmp`;
  try {
    const { default: sqlite } = await import("node-sqlite3-wasm");
    const database = new sqlite.Database(temporary);
    try {
      await fill(database, run);
    } finally {
      database.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function fill(database: Database, run: ExportedRun): Promise<void> {
  database.exec("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY");
  database.exec(trackioSchema);
  database.exec("BEGIN");
  const times = await timesOf(run);
  const { name, options, endedAt } = run;
  database.run(insertConfig, [name, name, jsonOf(options), endedAt.toISOString()]);
  await eachRow(database.prepare(insertMetrics), metricsRows(run, times));
  await eachRow(database.prepare(insertTrace), traceRows(run, times));
  database.exec("COMMIT");
}

type Row = (string | number)[];

async function eachRow(statement: Statement, rows: AsyncIterable<Row>): Promise<void> {
  try {
    for await (const row of rows) statement.run(row);
  } finally {
    statement.finalize();
  }
}

/** When each step ended. */
type Times = (step: number) => string;

async function timesOf({ metrics, endedAt }: ExportedRun): Promise<Times> {
  const steps: { step: number; seconds: number }[] = [];
  for await (const row of metrics()) steps.push({ step: row.step ?? 0, seconds: secondsOf(row) });
  const times = new Map<number, string>();
  let at = endedAt.getTime();
  for (const { step, seconds } of steps.reverse()) {
    times.set(step, new Date(at).toISOString());
    at -= seconds * 1000;
  }
  return (step) => times.get(step) ?? endedAt.toISOString();
}

/** What a step took. */
function secondsOf(row: ExportedMetrics): number {
  return (row["seconds/rollout"] ?? 0) + (row["seconds/train"] ?? 0);
}

async function* metricsRows({ name, metrics }: ExportedRun, times: Times): AsyncGenerator<Row> {
  for await (const { step = 0, ...row } of metrics()) yield [name, times(step), name, step, jsonOf(row)];
}

async function* traceRows({ name, trajectories }: ExportedRun, times: Times): AsyncGenerator<Row> {
  let place = 0;
  for await (const trajectory of trajectories()) {
    const { step = 0 } = trajectory;
    const id = `${name}:${step}:${traceKey}:${place}`;
    const messages = jsonOf(messagesOf(trajectory).map(({ role, content }) => ({ role, content })));
    const metadata = jsonOf(metadataOf(trajectory));
    const searched = `${id} ${traceKey} ${wordsOf(trajectory)}`.toLowerCase();
    yield [id, name, times(step), name, step, traceKey, place, messages, metadata, searched];
    place += 1;
  }
}

function metadataOf({ id, set, question, answers, answer, stop, scores }: ExportedTrajectory): object {
  return { id, set, question, answers, answer, stop, ...scores };
}

function wordsOf({ question, answer, segments }: ExportedTrajectory): string {
  return [...segments.map(({ text }) => text), question, answer ?? ""].join(" ");
}

/** Numbers that JSON has not stand as Trackio writes them: `"NaN"`, `"Infinity"`. */
function jsonOf(value: object): string {
  return JSON.stringify(value, (_, each) =>
    typeof each === "number" && !Number.isFinite(each) ? String(each) : each,
  );
}
