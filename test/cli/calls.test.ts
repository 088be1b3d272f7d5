/** Calls of the command line within one process: each has its own streams and variables, and leaves nothing behind. */
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { main } from "../../apps/cli/main.ts";
import { projectRoot } from "../project.ts";
import { folder, model, questions } from "./tiny-corpus.ts";

const world = join(projectRoot, "world", "checkpoint");
const limits = ["--limits", "maxTurns=1,maxResponseTokens=4"];
const sizes = ["--steps", "1", "--batch-questions", "1", "--samples", "2", ...limits];

/** Calls that read, answer, train, start processes, serve meanwhile, fail and are wrong. */
const calls: readonly (readonly [code: number, ...args: string[]])[] = [
  [2, "lst"],
  [1, "index", "info", "none"],
  [0, "chat", "--model", world],
  [0, "ask", "--model", world],
  [1, "eval", "--model", model, "--questions", questions, "--baseline", "cot", "--adapter", "none"],
  [
    ...([0, "train", "--model", model, "--questions", questions, "--baseline", "cot"] as const),
    ...["--algorithm", "rloo", "--studio", "--out", join(folder, "run"), ...sizes],
  ],
  [0, "launch", "--processes", "1", "--logs", join(folder, "logs"), "--", "runs", "list", folder],
  [1, "launch", "--processes", "1", "--logs", join(folder, "logs"), "--", "runs", "show", "none"],
];

/** What a call could leave behind on the process. */
const stateOf = (): unknown => [
  process.exitCode,
  process.eventNames().filter((name) => String(name).startsWith("SIG")),
];

for (const [code, ...args] of calls)
  test(`${args.slice(0, 2).join(" ")}, ending with ${code}, leaves no listener and no exit code behind`, async () => {
    const { signal } = new AbortController();
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
    stdin.end("Who directed Nightwinter?\n");
    const said = Promise.all([text(stdout), text(stderr)]);
    const before = stateOf();
    const ended = await main(args, { signal, stdin, stdout, stderr });
    for (const stream of [stdout, stderr]) stream.end();
    assert.equal(ended, code, (await said).join("\n"));
    assert.deepEqual([getEventListeners(signal, "abort"), stateOf()], [[], before]);
  });
