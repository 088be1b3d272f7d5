/** Stops a run as Ctrl-C does, and starts its command again where that can be known. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:fs";
import { basename, join } from "node:path";
import { SeekError } from "../../../lib/base/errors.ts";
import { findRegular, openOwn } from "../../../lib/base/files/regular-file.ts";
import { packageRoot } from "../../../lib/base/package-root.ts";
import { recordFile } from "../../../lib/train/run/run-record.ts";
import type { Settings } from "../../../lib/train/run/settings.ts";
import { foreignRecordMessage } from "../../runs/named-in-record.ts";
import { readRecord } from "../../runs/run-config.ts";
import type { RunHolder } from "../../runs/run-lock.ts";
import type { ControlResult, RunOutput } from "../api.ts";
import type { WatchedRun } from "./watched-run.ts";

/** What a run that was started from here prints; it stands in the run's folder. */
const outputFile = "output.log";
/** Of one answer. */
const outputBytes = 1 << 16;

/** A command that goes on with a run. */
interface RunCommand {
  readonly args: readonly string[];
  /** As it is typed. */
  readonly text: string;
}

/**
 * The command that goes on with a run: `train` and `sft` keep their options.
 *
 * @param config - of the run
 * @param folder - where it stands now
 * @returns undefined for a run of another program
 */
export function commandOf(config: Settings | undefined, folder: string): RunCommand | undefined {
  const name = commandName(config);
  if (name === undefined || isStage(config, folder)) return undefined;
  const args = [name, "--config", join(folder, recordFile), "--out", folder];
  return { args, text: ["npx seekrl", ...args].join(" ") };
}

function commandName(config: Settings | undefined): string | undefined {
  if (config === undefined) return undefined;
  if ("questions" in config && "recipe" in config) return "train";
  return "data" in config && "epochs" in config ? "sft" : undefined;
}

/** A stage of `stage=auto`: when it ends is known to the command of both stages alone. */
function isStage(config: Settings | undefined, folder: string): boolean {
  const recipe = config?.recipe as Settings | undefined;
  return recipe?.name === "r1-searcher" && basename(folder) === `stage${recipe.stage}`;
}

/** Stops and resumes the runs of one studio. */
export class RunControl {
  readonly #whyNot: string | undefined;
  /** Who was told to stop: a second Ctrl-C would end a run without its checkpoint. */
  readonly #told = new Set<string>();
  /** Processes that were started and have not ended, by folder. */
  readonly #started = new Map<string, number>();
  readonly #exitCodes = new Map<string, number>();

  /** @param whyNot - why this studio must not control runs; undefined when it may */
  constructor(whyNot: string | undefined) {
    this.#whyNot = whyNot;
  }

  /** Whether runs can be stopped and resumed here. */
  get isAllowed(): boolean {
    return this.#whyNot === undefined;
  }

  /** Why a run cannot be stopped now; undefined when it can. @throws ERR_IO */
  async whyNotStop({ folder }: WatchedRun): Promise<string | undefined> {
    const { holder } = await folder.status();
    return this.#whyNot ?? whyNotSignal(holder);
  }

  /** Why a run cannot be resumed now; undefined when it can. @throws ERR_IO */
  async whyNotResume({ folder }: WatchedRun): Promise<string | undefined> {
    if (this.#whyNot !== undefined) return this.#whyNot;
    const { state } = await folder.status();
    if (state === "live" || this.#started.has(folder.folder)) return "it is running";
    if (state === "finished") return "its last step is done";
    if (state === "ended") return "it has ended";
    const { config, isOwn = false } = (await readRecord(folder.folder)) ?? {};
    const command = commandOf(config, folder.folder);
    if (command === undefined) return "its folder does not say which command it was: call that again";
    // What others wrote may name programs: a click is no word that these may run.
    return isOwn ? undefined : foreignRecordMessage(recordFile, config ?? {}, `${command.text} --trust`);
  }

  /** Tells the process that holds a run to stop after its step. @throws ERR_STATE when it cannot be told */
  async stop(run: WatchedRun): Promise<ControlResult> {
    const why = await this.whyNotStop(run);
    const { holder } = await run.folder.status();
    if (why !== undefined || holder === undefined) throw refusal(run, "stopped", why ?? "nobody works on it");
    const name = `${holder.pid} ${holder.since}`;
    if (!this.#told.has(name)) process.kill(holder.pid, "SIGINT");
    this.#told.add(name);
    return { done: "stopping", pid: holder.pid };
  }

  /** Starts a run's command again, as a process that outlives the studio. @throws ERR_STATE when it cannot be */
  async resume(run: WatchedRun): Promise<ControlResult> {
    const why = await this.whyNotResume(run);
    const { folder } = run.folder;
    const command = commandOf(await run.folder.config(), folder);
    if (why !== undefined || command === undefined)
      throw refusal(run, "resumed", why ?? "its command is not known");
    // Two clicks are one start.
    if (this.#started.has(folder)) throw refusal(run, "resumed", "it is running");
    this.#started.set(folder, 0);
    try {
      return { done: "started", pid: await this.#start(folder, command) };
    } catch (error) {
      this.#started.delete(folder);
      throw error;
    }
  }

  /** What a run that was started from here printed, from a byte on. @throws ERR_IO */
  async output(folder: string, after: number): Promise<RunOutput> {
    const isRunning = this.#started.has(folder);
    const exitCode = this.#exitCodes.get(folder) ?? null;
    const file = await findRegular(join(folder, outputFile), { within: folder });
    if (file === undefined) return { text: "", next: 0, size: 0, isRunning, exitCode };
    try {
      const { size } = await file.stat();
      const start = Math.min(after, size);
      const bytes = Buffer.alloc(Math.min(outputBytes, size - start));
      const { bytesRead } = await file.read(bytes, 0, bytes.length, start);
      return {
        ...{ text: bytes.toString("utf8", 0, bytesRead), next: start + bytesRead, size },
        ...{ isRunning, exitCode },
      };
    } finally {
      await file.close();
    }
  }

  async #start(folder: string, { args }: RunCommand): Promise<number> {
    const output = await openOwn(
      join(folder, outputFile),
      constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT,
    );
    try {
      const child = spawn(process.execPath, [join(packageRoot, "bin", "seekrl.mjs"), ...args], {
        detached: true,
        stdio: ["ignore", output.fd, output.fd],
      });
      child.once("exit", (code) => {
        this.#started.delete(folder);
        this.#exitCodes.set(folder, code ?? 1);
      });
      await once(child, "spawn");
      child.unref();
      const { pid = 0 } = child;
      this.#started.set(folder, pid);
      this.#exitCodes.delete(folder);
      return pid;
    } finally {
      await output.close();
    }
  }
}

function whyNotSignal(holder: RunHolder | undefined): string | undefined {
  if (holder === undefined) return "nobody works on it";
  if (!holder.isHere) return `it runs on ${holder.host}`;
  try {
    process.kill(holder.pid, 0);
    return undefined;
  } catch {
    return `process ${holder.pid} is another user's`;
  }
}

function refusal({ folder }: WatchedRun, what: string, why: string): SeekError {
  return new SeekError("ERR_STATE", `${folder.folder} cannot be ${what}: ${why}`);
}
