/** What docs/train-from-traffic.md shows runs as it stands there: server, client, feedback by curl, a server of the adapter. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { closeExamples, prepareExamples, runExample } from "../../examples.ts";
import { everything } from "../../public.ts";
import { program, temporary, workIn } from "./page-client.ts";

test("the page's program serves a model that learns from a reward function", async (t) => {
  const folder = await temporary(t);
  const scope = await prepareExamples(folder, everything);
  workIn(t, folder);
  t.after(() => closeExamples(scope));
  await runExample(program, { ...scope, ...everything });
  assert.ok(existsSync(join(folder, "runs", "learnt", "history.jsonl")));
});
