/** Changed configurations compute what transformers computes, or are refused by name (test/golden/model/make_variants.py). */
import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Model } from "../../lib/model/model.ts";
import { projectRoot } from "../project.ts";

interface Variant {
  readonly folder: string;
  readonly changes: Readonly<Record<string, unknown>>;
  /** The longest sequence that the model is loaded for, where it matters. */
  readonly context?: number;
  /** Log-probability of every ninth id; missing where transformers refuses. */
  readonly logprobs?: readonly number[];
}

const golden = join(projectRoot, "test", "golden", "model");
const readJson = async (path: string) => JSON.parse(await readFile(path, "utf8"));
const variants = (await readJson(join(golden, "variants.json"))) as Variant[];

/** Every ninth log-probability, or the refusal. */
async function score({ folder, changes, context }: Variant): Promise<(number | null)[] | Error> {
  const temporary = await mkdtemp(join(tmpdir(), "seekrl-variant-"));
  try {
    await cp(join(golden, folder), temporary, { recursive: true });
    const config = { ...(await readJson(join(golden, folder, "config.json"))), ...changes };
    const kept = Object.entries(config).filter(([, value]) => value !== "<removed>");
    await writeFile(join(temporary, "config.json"), JSON.stringify(Object.fromEntries(kept)));
    await using model = await Model.load(temporary, { contextTokens: context });
    const { ids } = await readJson(join(temporary, "reference.json"));
    const [, ...scored] = await model.scoreLogprobs(Int32Array.from(ids));
    return scored.filter((_, i) => i % 9 === 8);
  } catch (error) {
    assert.equal((error as { code?: string }).code, "ERR_FORMAT", String(error));
    return error as Error;
  } finally {
    await rm(temporary, { recursive: true });
  }
}

test("a changed configuration computes what transformers computes, or is refused by a changed key's name", async () => {
  let numEqual = 0;
  for (const variant of variants) {
    const label = `${variant.folder} ${JSON.stringify(variant.changes)}`;
    const scored = await score(variant);
    if (scored instanceof Error) {
      const named = Object.keys(variant.changes).some((key) => scored.message.includes(key));
      // A folder whose weights do not fit is refused by a tensor's name.
      assert.ok(named || /rope|tensor|shape|weight/.test(scored.message), `${label}: ${scored.message}`);
    } else if (variant.logprobs !== undefined) {
      const gaps = variant.logprobs.map((expected, i) => Math.abs((scored[i] ?? Number.NaN) - expected));
      assert.ok(Math.max(...gaps) < 1e-3, `${label}: off by ${Math.max(...gaps)}`);
      numEqual += 1;
    }
  }
  assert.ok(numEqual >= 70, `only ${numEqual} of ${variants.length} load`);
});
