/** `seekrl serve` from outside: what its options make of requests. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { projectRoot } from "../../../project.ts";
import { codeBlocks, shellCalls } from "../../../site/code-blocks.ts";
import { runCli, startServing } from "../../run-cli.ts";
import { writeTinyModel } from "../../tiny-folder.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const model = join(folder, "tiny");
await writeTinyModel(model);
await writeFile(join(model, "generation_config.json"), JSON.stringify({ temperature: 1.5, top_k: 30 }));
await writeFile(join(model, "chat_template.jinja"), "{{ messages[0].content }}|{{ mood }}|{{ pace }}|");

const golden = join(projectRoot, "test", "golden", "embed");

/** The address of a server, which is stopped with the test. */
async function served(t: TestContext, ...args: string[]): Promise<string> {
  return (await startServing(t, ["serve", "--model", model, ...args])).url;
}

async function ask<Answer>(url: string, body: object): Promise<Answer> {
  const answer = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  assert.equal(answer.status, 200, await answer.clone().text());
  return (await answer.json()) as Answer;
}

test("every request to a model server that a page shows is answered as the page says", async (t) => {
  const url = await served(t, "--model", join(projectRoot, "world", "checkpoint"));
  const shown = ["docs/serving-models.md", "docs/agent-as-a-model.md"];
  const calls = codeBlocks()
    .filter(({ file }) => shown.includes(file))
    .flatMap((block) => shellCalls(block))
    .filter(({ words }) => words[0] === "curl");
  assert.ok(calls.length >= 6);
  for (const { words, line } of calls) {
    const path = words.find((word) => word.startsWith("localhost:8000"))?.slice("localhost:8000".length);
    // The agent of a downloaded model is the world's here.
    const body = (words[words.indexOf("-d") + 1] ?? "").replace("agent/rag-r1", "agent/world");
    const answer = await fetch(`${url}${path}`, { method: "POST", body });
    const said = await answer.text();
    assert.equal(answer.status, 200, `${line}\n${said}`);
    if (body.includes("agent/world") && body.includes("Nightwinter")) assert.match(said, /Loromos/);
  }
});

test("requests draw as the model's folder says, --sampling says over it, and they themselves over both", async (t) => {
  const settings = async (url: string, body: object = {}) => {
    const asked = { input: "Hi", max_output_tokens: 16, ...body };
    const { temperature, top_p } = await ask<Record<string, number>>(`${url}/v1/responses`, asked);
    return { temperature, top_p };
  };
  const given = await served(t, "--sampling", "temperature=0.5,topP=0.9");
  assert.deepEqual(await settings(given), { temperature: 0.5, top_p: 0.9 });
  assert.deepEqual(await settings(given, { top_p: 0.8 }), { temperature: 0.5, top_p: 0.8 });
  const bare = await served(t, "--no-generation-config");
  assert.deepEqual(await settings(bare), { temperature: 1, top_p: 1 });
});

test("variables of the chat template are JSON or text, and an unknown one is refused before anything is served", async (t) => {
  const url = await served(t, "--template-variable", "mood=calm", "--template-variable", "pace=[1,2]");
  const messages = [{ role: "user", content: "Hi" }];
  const { prompt } = await ask<{ prompt: string }>(`${url}/apply-template`, { messages });
  assert.equal(prompt, "Hi|calm|[1, 2]|");
  const { code, stderr } = await runCli(
    "serve",
    "--model",
    model,
    "--port",
    "0",
    "--template-variable",
    "moods=1",
  );
  assert.deepEqual(
    [code === 0, /moods: the chat template reads no such variable/.test(stderr)],
    [false, true],
    stderr,
  );
  const wrong = await runCli("serve", "--model", model, "--sampling", "topQ=1");
  assert.match(wrong.stderr, /--sampling: .*topQ/);
});

test("feedback is a 404 that names the option that brings it, where nothing is kept", async (t) => {
  const body = JSON.stringify({ response_id: "chatcmpl-1", reward: 1 });
  const answer = await fetch(`${await served(t)}/v1/feedback`, { method: "POST", body });
  assert.equal(answer.status, 404);
  assert.match(await answer.text(), /seekrl serve has it with --record or --learn/);
});

test("a port that is taken is named, with the way out", async (t) => {
  const { port } = new URL(await served(t));
  const { code, stderr } = await runCli("serve", "--model", model, "--port", port);
  assert.equal(code, 1);
  assert.match(stderr, new RegExp(`^ERR_IO: 127\\.0\\.0\\.1:${port}: cannot listen: .*another port`, "m"));
});

test("an encoder and a cross-encoder answer beside the model as they do in Python", async (t) => {
  const expected = JSON.parse(await readFile(join(golden, "golden.json"), "utf8"));
  const { passages, queries } = expected.texts as Record<string, string[]>;
  const encoder = `${join(golden, "bert-cls")},name=small`;
  const url = await served(t, "--encoder", encoder, "--cross-encoder", join(golden, "bert-rank"));
  const { data } = await ask<{ data: { embedding: number[] }[] }>(`${url}/v1/embeddings`, {
    ...{ model: "small", input: passages?.[0], input_type: "passage" },
  });
  const [vector] = expected.embedders["bert-cls"].passages as number[][];
  // Python's float32 sums stand in another order.
  for (const [i, value] of data[0]?.embedding.entries() ?? [])
    assert.ok(Math.abs(value - (vector?.[i] ?? 0)) < 1e-5);
  assert.equal(data[0]?.embedding.length, vector?.length);
  const documents = (passages ?? []).slice(0, 3);
  const { results } = await ask<{ results: { index: number; relevance_score: number }[] }>(
    `${url}/v1/rerank`,
    {
      ...{ model: "bert-rank", query: queries?.[0], documents },
    },
  );
  const scores = expected.rankers["bert-rank"] as number[];
  assert.equal(results.length, 3);
  for (const { index, relevance_score } of results) {
    const score = 1 / (1 + Math.exp(-(scores[index] ?? Number.NaN)));
    assert.ok(Math.abs(relevance_score - score) < 1e-5, `${relevance_score} ${score}`);
  }
});
