/** `config.yaml` of a run: this user's own is gone on with, anybody else's is shown and needs `--trust`. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { stringify } from "yaml";
import { runCli } from "../../run-cli.ts";
import { writeTinyModel } from "../../tiny-folder.ts";
import { withVariables } from "../../variables.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const path = (...names: string[]): string => join(folder, ...names);
const variables = withVariables({ SEEKRL_CACHE: path("cache") });
after(() => variables[Symbol.dispose]());
await writeTinyModel(path("model"));
const rows = ["a", "b"].map((word) => JSON.stringify({ prompt: `${word}?`, completion: ` ${word}.` }));
await writeFile(path("data.jsonl"), `${rows.join("\n")}\n`);
await writeFile(path("questions.jsonl"), '{"question": "a?", "answers": ["a"]}\n');

const sft = (out: string, ...args: string[]) =>
  runCli(
    ...["sft", "--model", path("model"), "--data", path("data.jsonl"), "--epochs", "1"],
    ...["--batch-size", "2", "--learning-rate", "1e-3", "--out", path(out), ...args],
  );
const again = (out: string, ...args: string[]) =>
  runCli("sft", "--config", path(out, "config.yaml"), "--out", path(out), ...args);
const first = await sft("mine");
assert.equal(first.code, 0, first.stderr);

/** A run's folder as somebody else may send it, whose tools are a program that leaves a mark. */
async function foreignRun(name: string, more: object = {}): Promise<string> {
  const run = path(name);
  await mkdir(run, { recursive: true });
  const args = ["-c", `touch '${join(run, "started")}'`];
  const tools = { mcpServers: { shell: { command: "sh", args, env: { KEY: `\${HOME}` } } } };
  await writeFile(join(run, "tools.yaml"), stringify(tools));
  await writeFile(join(run, "metrics.jsonl"), '{"step":1,"reward/mean":0.5}\n');
  const config = {
    ...{ model: path("model"), questions: [path("questions.jsonl")], recipe: { name: "research" } },
    ...{ tools: join(run, "tools.yaml"), rewardUrl: "http://rewards.example/score", steps: 2 },
    ...{ retriever: { url: "https://search.example", keyEnv: "AWS_SECRET_ACCESS_KEY" }, ...more },
  };
  await writeFile(join(run, "config.yaml"), stringify(config));
  return run;
}

test("a run of this user goes on from its own record, moved, copied and renamed, and asks nothing", async () => {
  await cp(path("mine"), path("copied"), { recursive: true });
  await rename(path("copied"), path("moved"));
  for (const name of ["mine", "moved"]) {
    const { code, stderr } = await again(name);
    assert.equal(code, 0, stderr);
  }
  const { mode } = await stat(path("cache/secret"));
  assert.equal(mode & 0o777, 0o600);
});

test("what somebody else's record names is shown field by field, programs first, and nothing is started", async () => {
  const run = await foreignRun("foreign");
  const { code, stderr } = await runCli("train", "--config", join(run, "config.yaml"), "--out", run);
  assert.equal(code, 2);
  assert.deepEqual(stderr.split("\n").slice(0, 9), [
    `error: --config ${join(run, "config.yaml")}: not as a command of this user wrote it on this machine, but somebody else's or edited; it names`,
    `  program tools.mcpServers.shell: sh -c touch '${join(run, "started")}'`,
    "  address rewardUrl: http://rewards.example/score",
    "  address retriever.url: https://search.example",
    `  variable tools.mcpServers.shell.env.KEY: \${HOME}`,
    "  variable retriever.keyEnv: AWS_SECRET_ACCESS_KEY",
    `  path model: ${path("model")}`,
    `  path questions.0: ${path("questions.jsonl")}`,
    `  path tools: ${join(run, "tools.yaml")}`,
  ]);
  assert.match(stderr, /Remedy: --trust/);
  assert.ok(!existsSync(join(run, "started")));
});

for (const [what, disguise] of [
  [
    "in a folder that kept its checkpoints alone",
    async (run: string) => {
      await rm(join(run, "metrics.jsonl"));
      await mkdir(join(run, "checkpoints/last"), { recursive: true });
      return join(run, "config.yaml");
    },
  ],
  [
    "in a folder that kept its lock alone",
    async (run: string) => {
      await rename(join(run, "metrics.jsonl"), join(run, "lock"));
      return join(run, "config.yaml");
    },
  ],
  [
    "by a link from elsewhere",
    async (run: string) => {
      await symlink(join(run, "config.yaml"), `${run}.yaml`);
      return `${run}.yaml`;
    },
  ],
  [
    "by a link to a file beside its folder",
    async (run: string) => {
      await rename(join(run, "config.yaml"), `${run}.yaml`);
      await symlink(`${run}.yaml`, join(run, "config.yaml"));
      return join(run, "config.yaml");
    },
  ],
  [
    "under another name",
    async (run: string) => {
      await rename(join(run, "config.yaml"), join(run, "run.yml"));
      return join(run, "run.yml");
    },
  ],
  [
    "alone in the folder that it writes to",
    async (run: string) => {
      await rm(join(run, "metrics.jsonl"));
      const file = join(run, "config.yaml");
      await writeFile(file, `${await readFile(file, "utf8")}out: ${run}/../${run.split("/").at(-1)}\n`);
      return file;
    },
  ],
] as const) {
  test(`somebody else's record named ${what} starts nothing`, async () => {
    const run = await foreignRun(`disguised ${what}`, { rewardUrl: undefined });
    const file = await disguise(run);
    const { code, stderr } = await runCli("train", "--config", file, "--out", run);
    assert.ok(!existsSync(join(run, "started")));
    assert.equal(code, 2);
    assert.match(stderr, /program tools\.mcpServers\.shell: sh -c/);
  });
}

test("--trust on the command line, and only there, has the programs of somebody else's record started", async () => {
  const run = await foreignRun("trusted", { rewardUrl: undefined, trust: true });
  const config = join(run, "config.yaml");
  const key = await runCli("train", "--config", config, "--out", run, "--trust");
  assert.match(key.stderr, /unknown key "trust"/);
  await foreignRun("trusted", { rewardUrl: undefined });
  await runCli("train", "--config", config, "--out", run, "--trust");
  assert.ok(existsSync(join(run, "started")));
});

test("a record that was edited, or signed by another user, is asked about once", async () => {
  await cp(path("mine"), path("edited"), { recursive: true });
  const record = path("edited/config.yaml");
  await writeFile(record, (await readFile(record, "utf8")).replace("batchSize: 2", "batchSize: 1"));
  const edited = await again("edited");
  assert.equal(edited.code, 2);
  assert.match(edited.stderr, /somebody else's or edited; it names\n {2}path model: /);
  await cp(path("mine"), path("theirs"), { recursive: true });
  using _other = withVariables({ SEEKRL_CACHE: path("other-cache") });
  assert.equal((await again("theirs")).code, 2);
  const trusted = await again("theirs", "--trust");
  assert.equal(trusted.code, 0, trusted.stderr);
  assert.equal((await again("theirs")).code, 0);
});

test("no text behind or before a signature is signed by it", async () => {
  const record = await readFile(path("mine/config.yaml"), "utf8");
  for (const [name, text] of [
    ["behind", `${record}seed: 7\n`],
    ["before", `seed: 7\n${record.replace(/^seed: .*\n/m, "")}`],
    ["twice", `${record}${record.split("\n").at(-2)}\n`],
  ] as const) {
    await cp(path("mine"), path(name), { recursive: true });
    await writeFile(path(name, "config.yaml"), text);
    assert.equal((await again(name)).code, 2, name);
  }
});

test("a file of tools that was changed since its run was begun starts nothing", async () => {
  const { writeRecord, isOwnRecord } = await import("../../../../lib/train/run/run-record.ts");
  const run = await foreignRun("changed");
  const config = { tools: join(run, "tools.yaml"), steps: 2 };
  await writeRecord(run, config, undefined);
  const text = await readFile(join(run, "config.yaml"), "utf8");
  assert.equal(await isOwnRecord(text, config), true);
  await writeFile(join(run, "tools.yaml"), "mcpServers: { other: { command: sh } }\n");
  assert.equal(await isOwnRecord(text, config), false);
});

test("a file of options that the user wrote is the user's own word, wherever it names things", async () => {
  const { writeFile: write } = await import("node:fs/promises");
  await write(path("my.yaml"), stringify({ model: path("model"), data: path("data.jsonl"), batchSize: 2 }));
  const { code, stderr } = await runCli("sft", "--config", path("my.yaml"), "--out", path("own"));
  assert.equal(code, 0, stderr);
});

test("nothing of a record reaches the terminal but printable text", async () => {
  const run = await foreignRun("escapes", { rewardUrl: "http://a\u001b]0;x\u0007\u202eb" });
  const { stderr } = await runCli("train", "--config", join(run, "config.yaml"), "--out", run);
  assert.match(stderr, /address rewardUrl: http:\/\/a\\u\{1b\}\]0;x\\u\{7\}\\u\{202e\}b/);
  assert.doesNotMatch(stderr, /[^\P{C}\n]/u);
});

test("a secret that others may read signs nothing and is told", async () => {
  await chmod(path("cache/secret"), 0o644);
  const { code, stderr } = await again("mine");
  await chmod(path("cache/secret"), 0o600);
  assert.equal(code, 1);
  assert.match(stderr, /^ERR_STATE: \S+secret: expected 64 characters that this user alone may read/m);
});

test("where no secret can be kept a training says so in its record and ends as usual", async () => {
  await writeFile(path("no-folder"), "");
  using _none = withVariables({ SEEKRL_CACHE: path("no-folder/cache") });
  const { code, stderr } = await sft("unsigned");
  assert.equal(code, 0, stderr);
  assert.match(await readFile(path("unsigned/config.yaml"), "utf8"), /^# not signed: .*no-folder/m);
});

test("a commit that somebody else's record names stands for no branch without --trust", async () => {
  const run = path("pinned");
  await mkdir(run, { recursive: true });
  await writeFile(join(run, "metrics.jsonl"), "");
  const pinned = `hf://acme/talk@${"0".repeat(40)}`;
  await writeFile(join(run, "config.yaml"), `model: ${pinned}\n`);
  const { code, stderr } = await runCli("sft", "--model", "acme/talk", "--data", "none", "--out", run);
  assert.equal(code, 2);
  assert.match(stderr, new RegExp(`acme/talk: its record, .* names ${pinned}\\. Remedy: .*--trust`));
});
