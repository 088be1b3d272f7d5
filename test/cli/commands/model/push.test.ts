/** `seekrl push` as a user calls it: what it prints, sends and says when it cannot. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { startPushHub } from "../../../connectors/remote/hub/push-hub.ts";
import { projectRoot } from "../../../project.ts";
import { CliCall, runCli } from "../../run-cli.ts";
import { withVariables } from "../../variables.ts";

const id = "acme/searcher";
const model = join(projectRoot, "world", "checkpoint");
const folder = await mkdtemp(join(tmpdir(), "seekrl-push-"));
after(() => rm(folder, { recursive: true }));

test("a folder is pushed, and asked for by its name", async () => {
  await using hub = await startPushHub(id);
  using _variables = withVariables({ HF_ENDPOINT: hub.url, HF_TOKEN: "mine", HF_HUB_CACHE: folder });
  const push = await runCli("push", model, "--to", id, "--private", "--json");
  assert.equal(push.code, 0, push.stderr);
  const { commit, url, files } = JSON.parse(push.stdout);
  assert.deepEqual([commit, url, hub.visibility], [hub.commit, `${hub.url}/${id}`, "private"]);
  const weights = files.find(({ name }: { name: string }) => name === "model.safetensors");
  assert.equal(weights.numBytes, (await readFile(join(model, "model.safetensors"))).length);
  const call = ["tokenize", "--model", id, "--text", "<think> I will search. </think>", "--json"];
  const [here, there] = [call.with(2, model), call];
  const [own, fetched] = [await runCli(...here), await runCli(...there)];
  assert.equal(fetched.stdout, own.stdout, fetched.stderr);
});

test("Ctrl-C while files are sent leaves the repository as it was, and says so", async () => {
  await using hub = await startPushHub(id);
  using _variables = withVariables({ HF_ENDPOINT: hub.url, HF_TOKEN: "mine" });
  const args = ["push", model, "--to", id];
  const call = new CliCall(args);
  hub.onStored = async () => void (await call.interrupt());
  const { code, stderr } = await call.ended;
  assert.equal(code, 1);
  assert.equal(
    stderr,
    `${id}: aborted; nothing was committed\nERR_ABORTED: interrupted; the same command goes on with the files that the hub does not have yet\n`,
  );
  assert.deepEqual([hub.commits, [...hub.files]], [[], []]);
  delete hub.onStored;
  const again = await runCli(...args);
  assert.equal(again.code, 0, again.stderr);
  assert.equal(hub.commits.length, 1);
});

test("a dry run prints card and files, and asks nobody", async () => {
  using _variables = withVariables({ HF_ENDPOINT: "http://127.0.0.1:9", HF_TOKEN: "" });
  const { code, stdout } = await runCli("push", model, "--to", id, "--dry-run");
  assert.equal(code, 0);
  assert.match(stdout, /^---\nlibrary_name: transformers\n/);
  assert.match(stdout, /^model\.safetensors +\d+ bytes$/m);
});

test("what is refused is one line with a remedy", async () => {
  using _variables = withVariables({ HF_TOKEN: "" });
  const cases = [
    [["--to", id], /^ERR_ARGUMENT: acme\/searcher: expected a token of the hub, got none\. Remedy: .*\n$/],
    [["--to", "searcher"], /^ERR_ARGUMENT: pushModel: to: expected OWNER\/NAME.*\n$/],
  ] as const;
  for (const [args, expected] of cases) {
    const { code, stderr } = await runCli("push", model, ...args);
    assert.equal(code, 1);
    assert.match(stderr, expected);
  }
});
