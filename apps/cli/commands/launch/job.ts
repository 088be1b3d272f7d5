/** All processes of a launch on this machine: started together, ended together. */
import { addAbortListener } from "node:events";
import { join } from "node:path";
import { SeekError } from "../../../../lib/base/errors.ts";
import { UsageError } from "../../command.ts";
import { endingText, wrongUsage } from "../../ending.ts";
import { lastLines } from "./log-tail.ts";
import { type RankLayout, rankEnvironment, rankOf } from "./rank-environment.ts";
import { type RankEnd, type RankProcess, type Shown, startRank } from "./rank-process.ts";

/** What is started, and how it is ended. */
export interface JobOptions {
  /** Program and arguments of every process. */
  readonly command: readonly string[];
  /** Variables that every process has besides those of its place. */
  readonly env: NodeJS.ProcessEnv;
  readonly layout: RankLayout;
  /** Folder of the logs, one a rank. */
  readonly logs: string;
  /** Between SIGTERM and SIGKILL. */
  readonly graceMs: number;
  readonly shown: Shown;
  /** Ends all processes. */
  readonly signal: AbortSignal;
}

/** The others wait in a collective for one that died: there is nothing to finish, so the grace is no longer than this. */
const failureGraceMs = 10_000;
/** Ranks that are named one by one. */
const maxNamed = 8;
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The log of a rank. */
export function logOf(logs: string, rank: number): string {
  return join(logs, `rank-${String(rank).padStart(5, "0")}.log`);
}

/**
 * Runs a process for each rank of this machine until all have ended well, or the signal has ended them.
 *
 * @throws what a rank failed with, naming it, once all are gone: ERR_REMOTE where it was killed or says so, whereupon another
 *   start may end well; ERR_INTERNAL where it did not say
 * @throws ERR_IO where a log cannot be written or no process be started
 * @throws UsageError where it says that it was called in a wrong way
 */
export async function runJob(options: JobOptions): Promise<void> {
  const { layout, graceMs, signal } = options;
  const ranks: RankProcess[] = [];
  let failed: RankEnd | undefined;
  try {
    for (let localRank = 0; localRank < layout.processes; localRank++) {
      ranks.push(startLocal(options, localRank));
    }
    failed = await firstFailure(ranks, signal);
  } catch (error) {
    await endAll(ranks, failureGraceMs);
    throw error;
  }
  await endAll(ranks, failed === undefined ? graceMs : Math.min(graceMs, failureGraceMs));
  const ends = await Promise.all(ranks.map(({ exited }) => exited));
  if (failed !== undefined) throw await failureOf(causeOf(failed, ends), ends, options);
  // After Ctrl-C: rank 0's line that says how to go on.
  options.shown.stderr.write(
    ends
      .filter(({ rank }) => rank === 0)
      .map(toldText)
      .join(""),
  );
}

function startLocal({ command, env, layout, logs, shown }: JobOptions, localRank: number): RankProcess {
  const rank = rankOf(layout, localRank);
  const environment = rankEnvironment(layout, localRank, env);
  const output = rank === 0 ? shown : undefined;
  return startRank({ rank, command, environment, log: logOf(logs, rank), shown: output });
}

/** The first that ends badly; undefined once all have ended or the signal has fired. */
function firstFailure(ranks: readonly RankProcess[], signal: AbortSignal): Promise<RankEnd | undefined> {
  return new Promise((resolve, reject) => {
    const failures: RankEnd[] = [];
    // Of several seen at once the one that was killed came first: the others fail because of it.
    const choose = (): void => resolve(failures.find((each) => each.signal !== null) ?? failures[0]);
    const exits = ranks.map(async ({ exited }) => {
      const end = await exited;
      if (end.code !== 0 && failures.push(end) === 1) setImmediate(choose);
    });
    const listener = addAbortListener(signal, () => resolve(undefined));
    const ended = Promise.all(exits).then(() => setImmediate(choose), reject);
    void ended.finally(() => listener[Symbol.dispose]());
  });
}

/** Asks all to end, and ends those that have not done so in time, or at a further signal. */
async function endAll(ranks: readonly RankProcess[], graceMs: number): Promise<void> {
  const sendAll = (signal: NodeJS.Signals): void => {
    for (const rank of ranks) rank.send(signal);
  };
  const kill = (): void => sendAll("SIGKILL");
  sendAll("SIGTERM");
  const timer = setTimeout(kill, graceMs);
  for (const name of signals) process.on(name, kill);
  const ends = await Promise.allSettled(ranks.map(({ done }) => done));
  clearTimeout(timer);
  for (const name of signals) process.off(name, kill);
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

/** Whether it failed by itself: ERR_REMOTE is what one is told of others, ERR_ABORTED what ends those that still ran. */
function isOwnFailure({ code, told: { code: error } }: RankEnd): boolean {
  return code === wrongUsage || (error !== undefined && error !== "ERR_REMOTE" && error !== "ERR_ABORTED");
}

const toldText = ({ told, code }: RankEnd): string => endingText(told, code);

/** Of ranks that have ended, the one that the others failed with; they may have been gone before it. */
function causeOf(first: RankEnd, ends: readonly RankEnd[]): RankEnd {
  return first.signal !== null || isOwnFailure(first) ? first : (ends.find(isOwnFailure) ?? first);
}

/** The cause once, in the words of one rank, and a line that says which ranks ended so. */
async function failureOf(
  cause: RankEnd,
  ends: readonly RankEnd[],
  options: Pick<JobOptions, "layout" | "logs">,
): Promise<Error> {
  const { code, signal, told } = cause;
  const text = told.message === "" ? await silentText(cause, options) : causeText(cause, ends, options);
  if (code === wrongUsage) return new UsageError(text);
  return new SeekError(signal === null ? (told.code ?? "ERR_INTERNAL") : "ERR_REMOTE", text);
}

function causeText(
  cause: RankEnd,
  ends: readonly RankEnd[],
  { layout, logs }: Pick<JobOptions, "layout" | "logs">,
): string {
  const { told, code, log } = cause;
  const alike = ends.filter((each) => toldText(each) === toldText(cause)).map(({ rank }) => rank);
  const more = alike.length - maxNamed;
  const names = `${alike.slice(0, maxNamed).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  const who = alike.length === 1 ? `rank ${names}` : `ranks ${names}`;
  const where = alike.length === 1 ? `its log is ${log}` : `their logs are in ${logs}`;
  return `${told.message}\n${who} of ${sizeOf(layout)} ended with exit code ${code}; ${where}`;
}

/** Of one that was killed or is none of ours: its last lines, unless all that it wrote was shown. */
async function silentText(
  { rank, code, signal, log, logStart }: RankEnd,
  { layout }: Pick<JobOptions, "layout">,
): Promise<string> {
  const how = signal === null ? `ended with exit code ${code}` : `was killed by ${signal}`;
  const lines = await lastLines(log, logStart);
  const what = `rank ${rank} of ${sizeOf(layout)} ${how}`;
  if (lines.length === 0) return `${what}; wrote nothing to ${log}`;
  if (rank === 0) return `${what}; its log is ${log}`;
  return [`${what}; its last lines in ${log} are`, ...lines.map((line) => `  ${line}`)].join("\n");
}

const sizeOf = ({ machines, processes }: RankLayout): number => machines * processes;
