/** `seekrl chat` from outside: from a pipe, in a terminal, with a model, a search agent and a server. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { freePort } from "../../../../apps/cluster/free-port.ts";
import { Adapter } from "../../../../lib/model/adapter.ts";
import { Model } from "../../../../lib/model/model.ts";
import { projectRoot } from "../../../project.ts";
import { runCliOn } from "../../run-cli.ts";
import { writeTinyModel } from "../../tiny-folder.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const path = (name: string): string => join(folder, name);
const world = ["--model", join(projectRoot, "world", "checkpoint")];

await writeTinyModel(path("bare"));
await writeTinyModel(path("model"));
const config = JSON.parse(await readFile(join(path("model"), "tokenizer_config.json"), "utf8"));
const template =
  "{% for m in messages %}{{ m.role }}: {{ m.content }}<|end|>\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}";
await writeFile(
  join(path("model"), "tokenizer_config.json"),
  JSON.stringify({ ...config, chat_template: template }),
);

/** A chat whose lines come from a pipe. */
function chat(lines: readonly string[], ...args: string[]) {
  return runCliOn(lines.map((line) => `${line}\n`).join(""), "chat", ...args);
}

/** What a request to the server holds. */
interface ChatRequest {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly stream: boolean;
}

/** A server of the OpenAI protocol whose answer a test writes. */
async function serverOf(answer: (request: ChatRequest, response: ServerResponse) => void) {
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    if (request.url === "/v1/models") {
      response.end(JSON.stringify({ data: [{ id: "first" }, { id: "second" }] }));
      return;
    }
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
      answer(JSON.parse(body), response);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { server, url: `http://127.0.0.1:${port}` };
}

const eventOf = (content: string): string =>
  `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;

test("a model of the built-in world is asked by its recipe, and its search shows what it finds", async () => {
  const { code, stdout, stderr } = await chat(["Who directed Nightwinter?", "/search Nightwinter"], ...world);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /<search>[\s\S]*found: Nightwinter[\s\S]*\[answer: Loromos, 1 search\]\n/);
  assert.match(stdout, /Nightwinter: Directed by Loromos/);
  const off = await chat(["/search"], ...world);
  assert.equal(off.code, 2);
  assert.match(off.stderr, /asked by its recipe alone/);
});

test("messages, instructions and lines that go on are the conversation, which a file gets", async () => {
  const saved = path("saved.jsonl");
  const lines = ["Hi \\", "there", "/system Be brief.", "/save", "/exit", "never read"];
  lines[3] = `/save ${saved}`;
  const { code, stdout, stderr } = await chat(lines, "--model", path("model"), "--max-tokens", "3", "--json");
  assert.equal(code, 0, stderr);
  const { messages } = JSON.parse(stdout) as ChatRequest;
  assert.deepEqual(
    messages.map(({ role }) => role),
    ["system", "user", "assistant"],
  );
  assert.deepEqual([messages[0]?.content, messages[1]?.content], ["Be brief.", "Hi \nthere"]);
  assert.deepEqual(JSON.parse(await readFile(saved, "utf8")), { messages });
});

test("a cleared conversation begins anew, with the same answer to the same words", async () => {
  const lines = ["Hi", "/clear", "Hi", "/quit", "never read"];
  const { code, stdout } = await chat(lines, "--model", path("model"), "--max-tokens", "9");
  const [first, second] = stdout.split("forgotten\n");
  assert.ok(first && first === second, stdout);
  assert.equal(code, 0);
});

test("an adapter answers once it is chosen, and the model alone after none", async () => {
  await using model = await Model.load(path("model"));
  await using adapter = await Adapter.create(model, { rank: 2, seed: 1 });
  await adapter.save(path("mute"));
  const named = ["--adapter", `mute=${path("mute")}`];
  const { stdout, code, stderr } = await chat(
    ["/adapter", "/adapter none", "/adapter", "/adapter other"],
    ...["--model", path("model"), ...named],
  );
  assert.equal(code, 2);
  assert.match(stdout, /mute \(in use\)\nthe model alone answers\nmute\n/);
  assert.match(stderr, /expected one of mute, none, got other/);
  const twice = await chat([], "--model", path("model"), ...named, ...named);
  assert.match(twice.stderr, /expected another name for each, got mute twice/);
});

test("a model without chat template is refused with the ways out", async () => {
  const { code, stderr } = await chat(["Hi"], "--model", path("bare"));
  assert.equal(code, 1);
  assert.match(stderr, /bare: has no chat template.*Remedy: seekrl generate.*--index.*chat_template\.jinja/);
});

test("an unknown command is named with the nearest one", async () => {
  const { code, stderr } = await chat(["/serch x"], "--model", path("model"));
  assert.equal(code, 2);
  assert.match(stderr, /unknown command \/serch; did you mean \/search\?/);
});

test("a server's answer is streamed, the conversation goes with each request, and models are chosen by name", async () => {
  const asked: ChatRequest[] = [];
  const { server, url } = await serverOf((request, response) => {
    asked.push(request);
    // An event may be cut anywhere.
    const text = eventOf(`answer ${asked.length} é`);
    const bytes = Buffer.from(`${text}data: [DONE]\n\n`);
    response.write(bytes.subarray(0, 30));
    response.end(bytes.subarray(30));
  });
  const { code, stdout, stderr } = await chat(["Hi", "/adapter second", "And?"], "--endpoint", url);
  server.close();
  assert.equal(code, 0, stderr);
  assert.equal(stdout, "answer 1 é\nsecond answers\nanswer 2 é\n");
  assert.deepEqual(
    asked.map(({ model, stream }) => [model, stream]),
    [
      ["first", true],
      ["second", true],
    ],
  );
  assert.deepEqual(asked[1]?.messages, [
    { role: "user", content: "Hi" },
    { role: "assistant", content: "answer 1 é" },
    { role: "user", content: "And?" },
  ]);
});

test("a server that refuses, breaks off with an error or is not there says so", async () => {
  const { server, url } = await serverOf((_, response) => {
    response.end(`data: ${JSON.stringify({ error: { message: "out of blocks" } })}\n\n`);
  });
  const failed = await chat(["Hi"], "--endpoint", url);
  assert.equal(failed.code, 1);
  assert.match(failed.stderr, /ERR_REMOTE: the server: out of blocks/);
  server.close();
  const gone = await chat(["Hi"], "--endpoint", `http://127.0.0.1:${await freePort()}`);
  assert.match(gone.stderr, /ERR_REMOTE: http:\/\/127\.0\.0\.1:\d+\/v1\/models: .*ECONNREFUSED/);
});

test("a server that wants a key is met with the way to give one", async () => {
  const server = createServer((_, response) => response.writeHead(401).end("no key"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const { code, stderr } = await chat(["Hi"], "--endpoint", `http://127.0.0.1:${port}`);
  server.close();
  assert.equal(code, 1);
  assert.match(stderr, /status 401: no key\. Remedy: .*keyEnv=/);
});

const hasScript = spawnSync("script", ["--version"]).status === 0;

test("in a terminal Ctrl-C stops the answer at the server too, a paste is one message, and lines are kept", {
  skip: hasScript ? false : "there is no script(1), which gives a terminal",
}, async () => {
  const asked: ChatRequest[] = [];
  const news = new EventEmitter();
  let isGone = false;
  const { server, url } = await serverOf((request, response) => {
    asked.push(request);
    news.emit("news");
    if (asked.length > 1) {
      response.end(`${eventOf("done")}data: [DONE]\n\n`);
      return;
    }
    response.write(eventOf("endless"));
    response.on("close", () => {
      isGone = true;
      news.emit("news");
    });
  });
  const program = [process.execPath, join(projectRoot, "bin", "seekrl.mjs"), "chat"];
  const env = { ...process.env, SEEKRL_STATE: path("state") };
  const command = [...program, "--endpoint", url].join(" ");
  const child = spawn("script", ["-qec", command, "/dev/null"], { env });
  let said = "";
  child.stdout.on("data", (chunk) => {
    said += chunk;
    news.emit("news");
  });
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) await once(news, "news");
  };
  await until(() => said.includes("> "));
  child.stdin.write("Hi\r");
  await until(() => said.includes("endless"));
  child.stdin.write("\u{3}");
  await until(() => said.includes("[stopped]") && isGone);
  child.stdin.write("\u{1b}[200~two\rlines\r\u{1b}[201~\r");
  await until(() => said.includes("done"));
  assert.equal(asked[1]?.messages.at(-1)?.content, "two\nlines");
  assert.equal(asked[1]?.messages[1]?.content, "endless", "what was said stays");
  child.stdin.write("\u{3}");
  await until(() => said.includes("once more"));
  child.stdin.write("\u{3}");
  const [code] = await once(child, "close");
  server.close();
  assert.equal(code, 0);
  const history = await readFile(join(path("state"), "chat-history"), "utf8");
  assert.deepEqual(history.split("\n"), ["Hi", "two", "lines", ""]);
});
