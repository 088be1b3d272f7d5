/** Runs the parts of a demo: on the CPU side by side in processes of one share of the cores each, on a device in turn. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { SeekError, throwIfAborted } from "../../../../lib/base/errors.ts";
import type { PartMessage, PartTask } from "./part-process.ts";
import { type DemoPlan, type PartName, type PartResults, type PartSetting, parts } from "./parts.ts";

/**
 * Runs parts, each of which computes in single file most of the time: two of them use two cores better than one does.
 *
 * @param names - of the parts
 * @param plan - the demo's
 * @param setting - the opened world, where lines go, what ends it
 * @returns what each part found
 * @throws ERR_ABORTED when the signal fires; as the first part that fails
 */
export async function runParts<Name extends PartName>(
  names: readonly Name[],
  plan: DemoPlan,
  setting: PartSetting,
): Promise<Pick<PartResults, Name>> {
  const found =
    plan.device === "cpu" ? await sideBySide(names, plan, setting) : await inTurn(names, plan, setting);
  return Object.fromEntries(names.map((name, i) => [name, found[i]])) as Pick<PartResults, Name>;
}

type Found = PartResults[PartName];

async function inTurn(names: readonly PartName[], plan: DemoPlan, setting: PartSetting): Promise<Found[]> {
  const found: Found[] = [];
  for (const name of names) found.push(await parts[name](plan, setting));
  return found;
}

async function sideBySide(
  names: readonly PartName[],
  plan: DemoPlan,
  { onLine, signal }: PartSetting,
): Promise<Found[]> {
  const failed = new AbortController();
  const ending = AbortSignal.any([failed.signal, ...(signal ? [signal] : [])]);
  const numThreads = Math.max(1, Math.floor(availableParallelism() / names.length));
  const running = names.map((name) =>
    runProcess({ name, plan }, { numThreads, onLine, ending }).catch((error) => {
      failed.abort(error);
      throw error;
    }),
  );
  // All have ended when one of them has failed: they write into the demo's folder.
  await Promise.allSettled(running);
  throwIfAborted(signal, "demo");
  if (failed.signal.aborted) throw failed.signal.reason;
  return Promise.all(running);
}

interface ProcessSetting {
  readonly numThreads: number;
  readonly onLine: (line: string) => void;
  readonly ending: AbortSignal;
}

async function runProcess(task: PartTask, { numThreads, onLine, ending }: ProcessSetting): Promise<Found> {
  const child = fork(fileURLToPath(new URL("part-process.js", import.meta.url)), [], {
    env: { OMP_NUM_THREADS: String(numThreads), ...process.env },
    execArgv: [],
    // A terminal's Ctrl-C reaches the demo alone, which ends its parts.
    detached: true,
    serialization: "advanced",
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const end = (): void => {
    if (child.connected) child.disconnect();
  };
  ending.addEventListener("abort", end, { once: true });
  try {
    if (ending.aborted) end();
    // Where it has ended already, its exit says so.
    else child.send(task, () => {});
    return await resultOf(child, task.name, onLine);
  } finally {
    ending.removeEventListener("abort", end);
  }
}

async function resultOf(child: ChildProcess, name: PartName, onLine: (line: string) => void): Promise<Found> {
  let result: Found | undefined;
  let failure: SeekError | undefined;
  child.on("message", (message: PartMessage) => {
    if ("line" in message) onLine(message.line);
    else if ("result" in message) result = message.result;
    else failure = new SeekError(message.failure.code ?? "ERR_INTERNAL", message.failure.message);
  });
  const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
  // What it said last may still be on its way.
  if (child.connected) await once(child, "disconnect");
  if (result !== undefined) return result;
  const ended = `${name}: its process ended with ${signal ?? code} before it had a result`;
  throw failure ?? new SeekError("ERR_INTERNAL", ended);
}
