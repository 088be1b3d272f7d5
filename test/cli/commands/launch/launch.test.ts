/** `seekrl launch` from outside: its options, its exit codes, Ctrl-C, a launch that is killed. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runCli, runCliWith } from "../../run-cli.ts";
import { data, folder, inFolder, model, numPlans, tuning } from "./planned-tuning.ts";

test("a command is run as many processes, and the result says where their logs are", async () => {
  const { code, stdout, stderr } = await runCli(
    ...["launch", "--processes", "2", ...inFolder("two"), "--json", "--", ...tuning, "--zero", "1"],
  );
  assert.deepEqual([code, numPlans(stderr)], [0, 1], stderr);
  assert.match(stderr, /^layout {5}2 processes: 1 x 2 \(tensor x data\), ZeRO 1\nmodel /);
  const logs = ["rank-00000.log", "rank-00001.log"].map((name) => join(folder, "two", name));
  assert.deepEqual(JSON.parse(stdout), { ranks: [0, 1], size: 2, restarts: 0, logs });
  for (const log of logs) assert.equal(numPlans(readFileSync(log, "utf8")), 1);
});

test("several processes of a command that knows no ranks are refused, with the names of those that do", async () => {
  const calls = [
    ["runs list", ["--processes", "2"]],
    ["eval compare", ["--processes", "2"]],
    ["studio", ["--processes", "1", "--machines", "2", "--machine", "0", "--address", "a", "--port", "1"]],
    ["lst", ["--processes", "2"]],
  ] as const;
  for (const [name, place] of calls) {
    const { code, stderr } = await runCli(
      "launch",
      ...place,
      ...inFolder("copies"),
      "--",
      ...name.split(" "),
    );
    const message = `expected one of serve, sft, train, eval, whose processes know each other, got ${name}`;
    assert.deepEqual([code, stderr], [2, `error: launch: ${message}; call that without launch\n`]);
    assert.ok(!existsSync(join(folder, "copies")));
  }
});

test("options of the command that is run are not taken for those of launch", async () => {
  const { code, stderr } = await runCli("launch", "--processes", "2", "train", "--config", "train.yaml");
  const expected = "expected -- before the command that it runs, as in seekrl launch --processes 2 -- train";
  assert.deepEqual([code, stderr], [2, `error: launch: ${expected} --config run.yaml\n`]);
});

test("processes that would each answer all questions are refused; those of a shared model are not", async () => {
  const place = { RANK: "1", WORLD_SIZE: "2", LOCAL_RANK: "1", LOCAL_WORLD_SIZE: "2" };
  const meeting = { MASTER_ADDR: "127.0.0.1", MASTER_PORT: "29500" };
  const call = ["eval", "--model", model, "--questions", data];
  const { code, stderr } = await runCliWith({ ...place, ...meeting }, ...call);
  assert.equal(code, 2);
  assert.match(
    stderr,
    /^error: --tensor-parallel: expected 2, the number of processes, got 1: each would do all/,
  );
});

test("options that do not fit each other are usage errors that say which", async () => {
  const messages = [
    [["--machines", "2"], "--machine: required with --machines"],
    [["--machines", "2", "--machine", "2"], "--address: required with --machines"],
    [["--machine", "1"], "--machine: expected 0 without --machines"],
    [
      ["--machines", "2", "--machine", "2", "--address", "a", "--port", "1"],
      "--machine: expected 0 to 1, got 2",
    ],
  ] as const;
  for (const [args, message] of messages) {
    const { code, stderr } = await runCli("launch", "--processes", "1", ...args, "--", "train");
    assert.deepEqual([code, stderr], [2, `error: ${message}\n`]);
  }
});

test("what ranks fail with is shown once, with a line that names them, and stands in the log of each", async () => {
  const call = ["sft", "--model", model, "--data", join(folder, "none.jsonl"), "--out", join(folder, "o")];
  const { code, stderr } = await runCli("launch", "--processes", "2", ...inFolder("all"), "--", ...call);
  assert.equal(code, 1);
  // The end of the first may end the other before it reads the data.
  const alone = "rank (\\d) of 2 ended with exit code 1; its log is \\S+";
  const both = "ranks (0, 1) of 2 ended with exit code 1; their logs are in \\S+";
  const shown = new RegExp(
    `^layout .*\nERR_IO: --data: \\S+none\\.jsonl: no such file or folder\\. Remedy: .*\n(?:${alone}|${both})\n$`,
  );
  assert.match(stderr, shown);
  const [, one, two] = shown.exec(stderr) ?? [];
  for (const rank of (one ?? two ?? "").split(", ")) {
    const log = readFileSync(join(folder, "all", `rank-0000${rank}.log`), "utf8");
    assert.match(log, /^--- rank .*\n(layout .*\n)?ERR_IO: --data: .*\n$/);
  }
});
