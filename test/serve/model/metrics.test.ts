/** What a model server measures, as Prometheus reads it. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { checkpoint, servedWorld } from "./served.ts";

test("the page tells the memory of the process, of weights and of keys and values", async (t) => {
  const { url, engine } = await servedWorld(t, { engine: { cacheBytes: 1e6 } });
  const page = await (await fetch(`${url}/metrics`)).text();
  const figure = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(page)?.[1]);
  // The weights of the file are f32 as well; eight bytes tell how long its header is.
  const file = readFileSync(join(checkpoint, "model.safetensors"));
  const weights = file.length - 8 - Number(file.readBigUInt64LE(0));
  assert.equal(figure("seekrl_weights_bytes"), weights);
  assert.ok(figure("process_resident_memory_bytes") > weights);
  const cache = figure("seekrl_cache_bytes");
  assert.ok(cache <= 1e6 && cache > 1e6 - engine.blockBytes, `${cache}`);
});
