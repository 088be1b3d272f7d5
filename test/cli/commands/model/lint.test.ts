/** `seekrl lint` from outside: a table and code 0 when all holds, the failures and code 1 when not. */
import assert from "node:assert/strict";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { projectRoot } from "../../../project.ts";
import { runCli } from "../../run-cli.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const checkpoint = join(projectRoot, "world", "checkpoint");

test("lint shows what is trained of a conversation, and that the shipped model breaks no law", async () => {
  const { code, stdout, stderr } = await runCli("lint", "--model", checkpoint);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^a model of the built-in world .* asked by that world's recipe$/m);
  assert.match(stdout, /⟦<think> I have to look this up\. <\/think>\n<search> .* <\/search>⟧\n<information>/);
  assert.match(stdout, /^PASS +4 +generator and trainer agree on log-probabilities +largest gap 0\.0/m);
  assert.doesNotMatch(stdout, /^FAIL/m);
});

test("lint ends with code 1 and says what failed, with evidence", async () => {
  const model = join(folder, "model");
  await cp(checkpoint, model, { recursive: true });
  await writeFile(join(model, "generation_config.json"), JSON.stringify({ eos_token_id: [0] }));
  const given = ["lint", "--model", model, "--recipe", "world", "--question", "Who?"];
  const { code, stdout, stderr } = await runCli(...given, "--json");
  assert.equal(code, 1);
  assert.match(stderr, /^ERR_FORMAT: .*model with world: 1 of 16 checks failed$/m);
  const { passed, findings } = JSON.parse(stdout) as {
    passed: boolean;
    findings: { status: string; check: string; evidence: string }[];
  };
  assert.equal(passed, false);
  const [failed] = findings.filter(({ status }) => status === "fail");
  assert.match(failed?.check ?? "", /^the end of a turn/);
  assert.match(failed?.evidence ?? "", /generation_config\.json or config\.json: 0 <\|pad\|>/);
});
