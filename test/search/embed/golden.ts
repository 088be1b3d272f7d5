/** The golden encoders (test/golden/embed), and copies of them. */
import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { projectRoot } from "../../project.ts";

export const golden = join(projectRoot, "test", "golden", "embed");
interface Golden {
  readonly texts: { readonly passages: string[]; readonly queries: string[] };
  readonly embedders: Record<string, { readonly passages: number[][]; readonly queries: number[][] }>;
}
export const { texts, embedders } = JSON.parse(await readFile(join(golden, "golden.json"), "utf8")) as Golden;

const scratch = await mkdtemp(join(tmpdir(), "seekrl-encoder-"));
after(() => rm(scratch, { recursive: true }));
let copies = 0;

/** A copy of a golden folder that a test may change. */
export async function copyOf(name: string): Promise<string> {
  copies += 1;
  const folder = join(scratch, `${name}-${copies}`);
  await cp(join(golden, name), folder, { recursive: true });
  return folder;
}

export function worstDifference(vectors: Float32Array, expected: readonly number[][]): number {
  const flat = expected.flat();
  assert.equal(vectors.length, flat.length);
  return flat.reduce((worst, value, i) => Math.max(worst, Math.abs(value - (vectors[i] ?? 0))), 0);
}
