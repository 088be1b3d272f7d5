/** One process of a launch: its log, its output where it is shown, its end. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  closeSync,
  createWriteStream,
  fstatSync,
  mkdirSync,
  openSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import type { Readable, Writable } from "node:stream";
import { messageOf, SeekError } from "../../../../lib/base/errors.ts";
import { type Ending, endingIn, endingText } from "../../ending.ts";

/** Where the output of a process is shown. */
export interface Shown {
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/** A process to start. */
interface RankCommand {
  readonly rank: number;
  /** Program and arguments. */
  readonly command: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  /** The file that its output is added to. */
  readonly log: string;
  /** Of rank 0: its output goes there too, as it comes. */
  readonly shown?: Shown;
}

/** How a process ended: by an exit code or by a signal. */
export interface RankEnd {
  readonly rank: number;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** What it said of that, which stands at the end of its log. */
  readonly told: Ending;
  readonly log: string;
  /** Where in the log its output begins. */
  readonly logStart: number;
}

/** A process that was started. */
export interface RankProcess {
  /** Once it has ended. */
  readonly exited: Promise<RankEnd>;
  /** Once it has ended and all it wrote is in its log and shown. */
  readonly done: Promise<void>;
  /** Sends a signal; SIGKILL to what it has started, too. */
  send(signal: NodeJS.Signals): void;
}

/**
 * Starts a process in a process group of its own, so that a terminal's Ctrl-C reaches it once: from the launch. A channel
 * between both tells the process when the launch is gone.
 */
export function startRank({ rank, command, environment, log, shown }: RankCommand): RankProcess {
  const { file, start: logStart } = openLog(log, rank);
  const [program = "", ...args] = command;
  const output = shown === undefined ? file : "pipe";
  const child = spawn(program, args, {
    env: environment,
    stdio: ["ignore", output, output, "ipc"],
    detached: true,
  });
  closeSync(file);
  const written = shown === undefined ? Promise.resolve() : show(child, log, shown);
  const exited = endOf(child).then((end) => ({ rank, ...end, log, logStart }));
  const done = Promise.all([exited, written]).then(([{ told, code }]) =>
    addText(log, endingText(told, code)),
  );
  // Who waits for the end of all hears of it.
  done.catch(() => {});
  return { exited, done, send: (signal) => signalTo(child, signal) };
}

/** Opens a log to add to it; who starts again in the same folder finds what was said before. */
function openLog(log: string, rank: number): { readonly file: number; readonly start: number } {
  try {
    mkdirSync(dirname(log), { recursive: true });
    const file = openSync(log, "a");
    writeSync(file, `--- rank ${rank}, ${new Date().toISOString()}\n`);
    return { file, start: fstatSync(file).size };
  } catch (cause) {
    throw logError(log, cause);
  }
}

/** What a rank told of its end stands behind all that it wrote. */
function addText(log: string, text: string): void {
  try {
    if (text !== "") appendFileSync(log, text);
  } catch (cause) {
    throw logError(log, cause);
  }
}

function logError(log: string, cause: unknown): SeekError {
  return new SeekError("ERR_IO", `--logs: ${log} cannot be written: ${messageOf(cause)}`, { cause });
}

async function endOf(child: ChildProcess): Promise<Pick<RankEnd, "code" | "signal" | "told">> {
  let told = endingIn(undefined);
  child.on("message", (message) => {
    told = endingIn(message);
  });
  const [code, signal] = (await once(child, "exit").catch((cause) => {
    throw new SeekError("ERR_IO", `a process cannot be started: ${messageOf(cause)}`, { cause });
  })) as [number | null, NodeJS.Signals | null];
  // What it leaves behind would hold its ports, its GPU and its output.
  killGroup(child);
  // What it said last may still be on its way.
  if (child.connected) await once(child, "disconnect");
  return { code, signal, told };
}

/** Copies output to the log and to where it is shown, until there is no more. */
async function show(child: ChildProcess, log: string, { stdout, stderr }: Shown): Promise<void> {
  const kept = createWriteStream(log, { flags: "a" });
  const copy = (from: Readable | null, to: Writable): void => {
    from?.pipe(kept, { end: false });
    from?.pipe(to, { end: false });
  };
  copy(child.stdout, stdout);
  copy(child.stderr, stderr);
  try {
    child.once("close", () => kept.end());
    await once(kept, "finish");
  } catch (cause) {
    // A full disk: a rank whose words are lost is no longer waited for.
    killGroup(child);
    throw logError(log, cause);
  }
}

function signalTo(child: ChildProcess, signal: NodeJS.Signals): void {
  if (signal === "SIGKILL") killGroup(child);
  else child.kill(signal);
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch (error) {
    // Nothing is left of it.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
