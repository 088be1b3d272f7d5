/** Processors without extensions, emulated: what generates, trains and searches here does there. */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { projectRoot } from "../../project.ts";
import { skipUnless } from "../../skip-unless.ts";

const scratch = await mkdtemp(join(tmpdir(), "seekrl-processor-"));
after(() => rm(scratch, { recursive: true }));

const emulator = "qemu-x86_64";
const isThere = (): boolean => spawnSync(emulator, ["--version"]).status === 0;
const skip =
  process.arch !== "x64"
    ? "the processors that are emulated are x86's"
    : skipUnless(isThere(), `${emulator} (Debian: qemu-user) is not installed`);

/** Generates, scores with the same bits, trains a step, builds and searches an index of words and vectors. */
const program = `
const [root, out] = process.argv.slice(1);
const { checkDevice } = await import(root + "/dist/apps/cli/machine/check-device.js");
const { tokens } = await checkDevice("cpu");
const { Model, Trainer } = await import(root + "/dist/lib/index.js");
const shape = { vocabSize: 64, hiddenSize: 32, intermediateSize: 48, numLayers: 2, numHeads: 2, numKvHeads: 1, maxPosition: 64 };
const model = await Model.create(shape, { seed: 1, std: 0.2 });
const trainer = await Trainer.open(model);
const sequence = { tokens: Int32Array.from({ length: 24 }, (_, i) => (i * 7) % 64), rows: Int32Array.of(5, 9, 17, 22), weights: Float32Array.of(1, 1, 1, 1) };
const losses = [];
for (let step = 0; step < 3; step += 1) {
  losses.push((await trainer.accumulate([sequence], {})).loss);
  await trainer.step({ learningRate: 0.05 });
}
const { buildIndex, openIndex } = await import(root + "/dist/lib/search.js");
const corpus = ["Louvre", "Prado", "Rhine"].map((title, i) => ({ id: String(i), title, text: title + " stands or flows" }));
await buildIndex({ corpus, out });
const index = await openIndex(out);
const [hits] = await index(["prado"], { topK: 1 });
console.log(JSON.stringify({ tokens, losses, hit: hits[0].id }));
process.exit(0);`;

interface Outcome {
  readonly tokens: number;
  readonly losses: readonly number[];
  readonly hit: string;
}

async function outcomeOn(processor: string | undefined): Promise<Outcome> {
  const out = join(scratch, processor ?? "own");
  const node = [process.execPath, "--input-type=module", "-e", program, projectRoot, out];
  const [file = "", ...args] = processor === undefined ? node : [emulator, "-cpu", processor, ...node];
  const { stdout } = await promisify(execFile)(file, args);
  return JSON.parse(stdout) as Outcome;
}

// The first has SSSE3 and neither SSE4 nor AVX, the second AVX2 and no AVX-512.
for (const processor of ["core2duo", "Haswell"]) {
  test(`a ${processor} generates, trains and searches as this processor does`, { skip }, async () => {
    const [own, emulated] = await Promise.all([outcomeOn(undefined), outcomeOn(processor)]);
    // As many as `checkDevice` generates; it throws where their scores have other bits.
    assert.equal(emulated.tokens, 12);
    assert.equal(emulated.hit, "1");
    assert.ok((emulated.losses[2] ?? 0) < (emulated.losses[0] ?? 0), "what is trained is learnt");
    // Sums of f32 are ordered by a processor's widths: of losses from 6 to 16 a last bit is 5e-7 to 1e-6, and steps add up.
    for (const [i, loss] of emulated.losses.entries())
      assert.ok(Math.abs(loss - (own.losses[i] ?? 0)) < 1e-4, `${emulated.losses} and ${own.losses}`);
  });
}
