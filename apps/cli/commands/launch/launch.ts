/** `seekrl launch`: one command as many processes of this machine, alone or beside those of others. */
import { join } from "node:path";
import { z } from "zod";
import { packageRoot } from "../../../../lib/base/package-root.ts";
import { freePort } from "../../../cluster/free-port.ts";
import { maxPort } from "../../../cluster/launchers/variables.ts";
import { type Command, type CommandIo, command, UsageError } from "../../command.ts";
import { type JobOptions, logOf, runJob } from "./job.ts";
import { rankOf } from "./rank-environment.ts";
import { withRestarts } from "./restarts.ts";

const options = z.strictObject({
  command: z.array(z.string()).min(1).describe("what each process runs, after --: train --config run.yaml"),
  processes: z.int().min(1).describe("processes on this machine: one a GPU, or a share of the cores"),
  machines: z.int().min(1).default(1).describe("machines that run as many each"),
  machine: z.int().min(0).optional().describe("which of them this is, from 0 on"),
  address: z.string().min(1).optional().describe("host of machine 0, where all meet; alone 127.0.0.1"),
  port: z.int().min(1).max(maxPort).optional().describe("port there; alone a free one"),
  logs: z.string().default("runs/launch").describe("folder of the logs, one a rank"),
  restarts: z
    .int()
    .min(0)
    .default(0)
    .describe("how often all are started again after one was killed or lost a server or another rank"),
  graceMs: z
    .int()
    .min(0)
    .default(20_000)
    .describe("from SIGTERM to SIGKILL, milliseconds; at most 10,000 once a process failed"),
});

type LaunchOptions = z.output<typeof options>;

/**
 * The command.
 *
 * @param commands - all that there are, once they are known
 */
export function launchOf(commands: () => readonly Command[]): Command {
  return command({
    name: "launch",
    summary: "runs a command as many processes, here and on other machines",
    options,
    places: ["command"],
    isBefore: "seekrl launch --processes 2 -- train --config run.yaml",
    run: async (given, io) => {
      refuseCopies(given, commands());
      await launch(given, io);
    },
  });
}

async function launch(given: LaunchOptions, io: CommandIo): Promise<void> {
  const meeting = meetingOf(given);
  const { processes, machines, machine = 0 } = given;
  const start = async (restarts: number): Promise<void> => {
    // A port for each start: the last one's may still be held.
    const { address, port = await freePort() } = meeting;
    const layout = { processes, machines, machine, address, port, restarts };
    await runJob({ ...jobOptions(given, io), layout });
  };
  const restarts = await withRestarts(start, { ...io, most: given.restarts });
  const ranks = Array.from({ length: processes }, (_, i) => rankOf({ processes, machine }, i));
  io.result({ ranks, size: machines * processes, restarts, logs: ranks.map((r) => logOf(given.logs, r)) });
}

/** The command that a call names: of `eval` and `eval compare` the longer name. */
function calledOf(call: readonly string[], commands: readonly Command[]): Command | undefined {
  const words = (name: string): string[] => name.split(" ");
  return commands
    .filter(({ name }) => words(name).every((word, place) => call[place] === word))
    .sort((a, b) => words(b.name).length - words(a.name).length)[0];
}

/** Of what knows no ranks several processes would each do all of it, over each other's files. */
function refuseCopies(
  { command: call, processes, machines }: LaunchOptions,
  commands: readonly Command[],
): void {
  const called = calledOf(call, commands);
  if (processes * machines === 1 || called?.knowsRanks) return;
  const names = commands.filter(({ knowsRanks }) => knowsRanks).map(({ name }) => name);
  const [expected, actual] = [`one of ${names.join(", ")}`, called?.name ?? call[0]];
  throw new UsageError(
    `launch: expected ${expected}, whose processes know each other, got ${actual}; call that without launch`,
  );
}

/** Where all meet; the processes of one machine may leave it open. */
function meetingOf({ machines, machine, address, port, restarts }: LaunchOptions): {
  readonly address: string;
  readonly port: number | undefined;
} {
  if (machines === 1) {
    if ((machine ?? 0) > 0) throw new UsageError("--machine: expected 0 without --machines");
    return { address: address ?? "127.0.0.1", port };
  }
  const needed = { machine, address, port };
  for (const [name, value] of Object.entries(needed))
    if (value === undefined) throw new UsageError(`--${name}: required with --machines`);
  if (machine !== undefined && machine >= machines)
    throw new UsageError(`--machine: expected 0 to ${machines - 1}, got ${machine}`);
  if (restarts > 0)
    throw new UsageError(
      "--restarts: expected 0 with --machines: one machine cannot start the others again; what calls seekrl launch on all can",
    );
  return { address: address ?? "", port };
}

function jobOptions(
  { command: call, logs, graceMs }: LaunchOptions,
  { json, signal, env, stdout, stderr }: CommandIo,
): Omit<JobOptions, "layout"> {
  return {
    command: [process.execPath, join(packageRoot, "bin", "seekrl.mjs"), ...call],
    env,
    logs,
    graceMs,
    // Standard output is for one object then.
    shown: { stdout: json ? stderr : stdout, stderr },
    signal,
  };
}
