/** Every example in the documentation runs, and every public function and class has one. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { startModelHub } from "./connectors/remote/hub/model-hub.ts";
import { closeExamples, examplesOf, prepareExamples, runExample } from "./examples.ts";
import { projectRoot } from "./project.ts";
import { everything } from "./public.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
const scope = await prepareExamples(folder, everything);
const home = process.cwd();
process.chdir(folder);
/** The model that the pages name comes from a hub of this machine, with another one's files. */
const checkpoint = join(projectRoot, "world", "checkpoint");
const names = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"];
const hub = await startModelHub(
  "Qwen/Qwen2.5-0.5B-Instruct",
  Object.fromEntries(names.map((name) => [name, readFileSync(join(checkpoint, name))])),
);
process.env.HF_ENDPOINT = hub.url;
process.env.HF_HUB_CACHE = join(folder, "hub");
after(async () => {
  await hub[Symbol.asyncDispose]();
  process.chdir(home);
  await closeExamples(scope);
  await rm(folder, { recursive: true });
});

const sources = ["lib", "connectors", "apps"]
  .flatMap((top) =>
    readdirSync(join(projectRoot, top), { recursive: true, encoding: "utf8" }).map((file) => join(top, file)),
  )
  .filter((file) => file.endsWith(".ts") && !file.endsWith(".d.ts"))
  .map((file) => ({ file, text: readFileSync(join(projectRoot, file), "utf8") }));

for (const { file, text } of sources) {
  const examples = examplesOf(text);
  if (examples.length === 0) continue;
  test(`the examples of ${file} run`, async () => {
    const compiled = join(projectRoot, "dist", file.replace(/\.ts$/, ".js"));
    const own = (await import(pathToFileURL(compiled).href)) as Record<string, unknown>;
    for (const example of examples) {
      await assert.doesNotReject(runExample(example, { ...scope, ...everything, ...own }), `\n${example}`);
    }
  });
}

/** Pages whose code a test of their own runs, which looks at what comes out too. */
const testedElsewhere = ["retrieval.md", "serving.md", "train-from-traffic.md", "your-own-agent.md"];
const pages = readdirSync(join(projectRoot, "docs"), { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".md") && !testedElsewhere.includes(file))
  .map((file) => ({ file, text: readFileSync(join(projectRoot, "docs", file), "utf8") }));

for (const { file, text } of pages) {
  const blocks = [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)]
    .map(([, code = ""]) => code)
    // A program with a server of its own is whole, and test/readme runs it.
    .filter((code) => !code.includes('from "node:http"'));
  if (blocks.length === 0) continue;
  test(`the examples of docs/${file} run`, async () => {
    for (const block of blocks) {
      const code = block
        .replace(/^import [^;]*;$/gm, "")
        .replace(/^export /gm, "")
        .replace("http://127.0.0.1:8000", String(scope.retrieverUrl));
      await assert.doesNotReject(runExample(code, { ...scope, ...everything, apiKey: "none" }), `\n${block}`);
    }
  });
}

test("every public function and class has an example", () => {
  const documented = new Set(
    sources.flatMap(({ text }) =>
      [
        ...text.matchAll(
          /@example\n(?:(?!\*\/)[\s\S])*\*\/\nexport (?:async )?(?:function\*?|class|const) (\w+)/g,
        ),
      ].map(([, name]) => name),
    ),
  );
  const missing = Object.keys(everything).filter((name) => !documented.has(name));
  assert.deepEqual(missing, []);
});
