/** The program from outside: help, usage errors, exit codes, one JSON object. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { projectRoot } from "../project.ts";
import { runCli } from "./run-cli.ts";

test("help names every command and is no error", async () => {
  const { code, stdout } = await runCli("--help");
  assert.equal(code, 0);
  for (const name of ["generate", "score", "tokenize", "index", "search", "sft", "train", "eval"])
    assert.match(stdout, new RegExp(`^  ${name} `, "m"));
});

test("help is a command as well, for commands of any depth, and the version is told", async () => {
  const [all, one, deep, wrong, version] = await Promise.all([
    runCli("help"),
    runCli("help", "lint"),
    runCli("help", "data", "prepare"),
    runCli("help", "lnt"),
    runCli("--version"),
  ]);
  assert.deepEqual([all.code, one.code, deep.code, wrong.code, version.code], [0, 0, 0, 2, 0]);
  assert.match(all.stdout, /^ {2}help \[command\] /m);
  assert.match(one.stdout, /^Usage: seekrl lint /);
  assert.match(deep.stdout, /^Usage: seekrl data prepare /);
  assert.match(wrong.stderr, /Did you mean lint\?/);
  assert.match(version.stdout, /^\d+\.\d+\.\d+\n$/);
});

test("an unknown command or flag is a usage error with a hint", async () => {
  const [command, flag] = await Promise.all([runCli("tokenise"), runCli("score", "--modle", "x")]);
  assert.equal(command.code, 2);
  assert.match(command.stderr, /Did you mean tokenize\?/);
  assert.equal(flag.code, 2);
  assert.match(flag.stderr, /Did you mean --model\?/);
});

test("options that are missing or wrong are usage errors, and standard output stays empty", async () => {
  const [missing, wrong] = await Promise.all([
    runCli("tokenize", "--model", "m", "--json"),
    runCli("score", "--model", "m", "--ids", "1,x", "--json"),
  ]);
  assert.deepEqual([missing.code, missing.stdout, missing.stderr], [2, "", "error: --text: required\n"]);
  assert.deepEqual([wrong.code, wrong.stdout], [2, ""]);
  assert.match(wrong.stderr, /--ids: expected number.*got \[1,"x"\]/);
});

test("what a command is about may stand without its flag, once; a folder that is not there is said to be none", async () => {
  const [place, flag, both, studio] = await Promise.all([
    runCli("index", "info", "no-index"),
    runCli("index", "info", "--index", "no-index"),
    runCli("search", "who", "--query", "who", "--index", "no-index"),
    runCli("studio", "no-runs"),
  ]);
  assert.deepEqual([place.code, flag.code, both.code, studio.code], [1, 1, 2, 2]);
  assert.match(place.stderr, /^ERR_IO: --index: no-index: no such file or folder/);
  assert.equal(flag.stderr, place.stderr);
  assert.equal(both.stderr, "error: --query: expected once, got it without the flag too\n");
  assert.match(studio.stderr, /^error: no-runs: no such file or folder; expected a folder of runs/);
});

test("a group of commands lists them, and hints at the one that was meant", async () => {
  const [alone, wrong, help] = await Promise.all([
    runCli("index"),
    runCli("index", "biuld"),
    runCli("index", "build", "--help"),
  ]);
  assert.equal(alone.code, 2);
  assert.match(alone.stderr, /^ {2}build .*builds a search index/m);
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /Did you mean build\?/);
  assert.equal(help.code, 0);
  assert.match(help.stdout, /^Usage: seekrl index build /);
});

test("a command with a command of its own keeps its flags apart from that one's", async () => {
  const [alone, inner, help] = await Promise.all([
    runCli("eval", "compare", "one.jsonl"),
    runCli("eval", "compare", "one.jsonl", "two.jsonl", "--recipe", "world"),
    runCli("eval", "--help"),
  ]);
  assert.deepEqual([alone.code, inner.code, help.code], [2, 2, 0]);
  assert.match(alone.stderr, /missing required argument 'second'/);
  assert.match(inner.stderr, /unknown option '--recipe'/);
  assert.match(help.stdout, /--recipe /);
  assert.match(help.stdout, /^ {2}compare /m);
});

test("a failure is exit code 1 and says what failed", async () => {
  const { code, stdout, stderr } = await runCli(
    "tokenize",
    "--model",
    "no-such-folder",
    "--text",
    "a",
    "--json",
  );
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /^ERR_IO: --model: no-such-folder: no such file or folder/);
});

test("help, wrong calls and folders that are not there load no native code", () => {
  const { sharedObjects } = process.report.getReport() as unknown as { sharedObjects: string[] };
  assert.ok(sharedObjects.length > 0);
  assert.deepEqual(
    sharedObjects.filter((path) => /seekrl|torch/.test(path.slice(projectRoot.length))),
    [],
  );
});
