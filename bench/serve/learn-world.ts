/**
 * Does what users get become better while `seekrl serve --learn` serves it, and what does a stretch of wrong feedback cost?
 *
 * `npm run bench -- serve/learn-world [--model world/hasty] [--seed 0] [--replies 2400] [--poisoned 480] [--after 480]
 * [--clients 16] [--learn rank=16,learningRate=0.001] [--poison 1] [--out FOLDER]`: the command runs in a process of its
 * own; OpenAI's client asks the training questions of the built-in world of that seed at temperature 1, every other time as
 * a stream, and posts exact match as feedback: first as it is, then for a while 1 less it, then as it is again. Each figure
 * is counted here, from the true answers. Afterwards recorded ids are compared with those that the client was sent, and what
 * the server learnt is learnt once more from the records and compared bit for bit.
 */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { parseAssignments } from "../../apps/cli/assignments.ts";
import { createWorld } from "../../apps/world/world.ts";
import { checkRecords } from "./learn-world/check.ts";
import { Player } from "./learn-world/player.ts";
import { startServer } from "./learn-world/server.ts";
import { printTable } from "./learn-world/table.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "world/hasty" },
    seed: { type: "string", default: "0" },
    replies: { type: "string", default: "2400" },
    poisoned: { type: "string", default: "480" },
    after: { type: "string", default: "480" },
    poison: { type: "string", default: "1" },
    clients: { type: "string", default: "16" },
    learn: { type: "string", default: "" },
    every: { type: "string", default: "240" },
    out: { type: "string" },
  },
});
const [seed, clients, poison] = [Number(values.seed), Number(values.clients), Number(values.poison)];
const stretches = [
  { count: Number(values.replies), poison: 0 },
  { count: Number(values.poisoned), poison },
  { count: Number(values.after), poison: 0 },
];
const out = values.out ?? mkdtempSync(join(tmpdir(), "seekrl-learn-world-"));
const server = await startServer({ model: values.model, seed, learn: values.learn, out });
try {
  const player = new Player({ url: server.url, model: server.model, seed, clients });
  for (const stretch of stretches) await player.play(createWorld({ seed }).questions.train, stretch);
  await server.stop();
  await printTable(player.played, { out, every: Number(values.every) });
  await checkRecords(player.played, { out, learn: parseAssignments(values.learn) });
  process.stdout.write(`failed requests: ${player.numFailed}\nlogs: ${out}\n`);
} finally {
  await server.stop();
}
