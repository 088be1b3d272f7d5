/** Every command that listens does so on this machine alone, and answers no page and no name of another. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { isIPv4 } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { commands } from "../../../../apps/cli/commands.ts";
import { buildIndex } from "../../../../lib/search/index-folder/build/build.ts";
import { runCli, startServing } from "../../run-cli.ts";
import { writeTinyModel } from "../../tiny-folder.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const [index, model, questions] = ["index", "model", "q.jsonl"].map((name) => join(folder, name)) as [
  string,
  string,
  string,
];
await buildIndex({ corpus: [{ id: "1", title: "Rome", text: "Rome is in Italy." }], out: index });
await writeTinyModel(model);
await writeFile(questions, '{"question": "Capital of Italy?", "answers": ["Rome"]}\n');

/** A call of each, by its name. */
const calls: Readonly<Record<string, readonly string[]>> = {
  serve: ["serve", "--model", model],
  "mcp serve": ["mcp", "serve", "--index", index],
  studio: ["studio", folder],
  "retriever serve": ["retriever", "serve", "--index", index],
  "reward serve": ["reward", "serve", "--questions", questions],
};

/** The status of an answer to a request with these headers. */
function statusOf(url: string, path: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(new URL(path, url), { headers }, (answer) => {
      answer.resume().on("end", () => resolve(answer.statusCode ?? 0));
    });
    asked.on("error", reject).end();
  });
}

test("the commands that listen are these", () => {
  const listening = commands.filter(({ options }) => "host" in options.shape).map(({ name }) => name);
  assert.deepEqual(listening.sort(), Object.keys(calls).sort());
});

for (const [name, args] of Object.entries(calls)) {
  test(`${name} listens on loopback and refuses foreign hosts and origins at every path`, async (t) => {
    const { url } = await startServing(t, args);
    const { hostname, port } = new URL(url);
    assert.ok(isIPv4(hostname) && hostname.startsWith("127."), url);
    for (const path of ["/health", "/", "/metrics", "/mcp", "/v1/models", "/api/runs", "/nowhere"]) {
      for (const host of ["attacker.example", `attacker.example:${port}`, "127.0.0.1.attacker.example"])
        assert.equal(await statusOf(url, path, { host }), 421, `${path} as ${host}`);
      for (const origin of ["https://attacker.example", "http://localhost.attacker.example", "null"])
        assert.equal(await statusOf(url, path, { origin }), 403, `${path} from ${origin}`);
    }
    const own = { host: `localhost:${port}`, origin: `http://localhost:${port}` };
    assert.ok(![421, 403].includes(await statusOf(url, "/health", own)));
  });

  test(`${name} is not opened to other machines without a key`, async () => {
    for (const host of ["0.0.0.0", "::"]) {
      const { code, stderr } = await runCli(...args, "--port", "0", "--host", host);
      assert.equal(code, 1, stderr);
      assert.match(stderr, /there is no key/);
    }
  });
}
