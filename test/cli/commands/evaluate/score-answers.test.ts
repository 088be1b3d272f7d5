/** `seekrl score-answers` from outside, with and without a judge. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { startFaultServer } from "../../../connectors/remote/fault-server.ts";
import { runCli } from "../../run-cli.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const predictions = join(folder, "predictions.jsonl");
const rows = [
  { question: "author?", answer: "James Madison", pred_ans: " Madison, James " },
  { question: "city?", golden_answers: ["NYC", "New York"], prediction: "New York City" },
  { question: "broken?", answer: "x", prediction: "y" },
];
await writeFile(predictions, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));

async function score(...args: string[]) {
  const { code, stdout, stderr } = await runCli(
    "score-answers",
    "--predictions",
    predictions,
    ...args,
    "--json",
  );
  return { code, stderr, means: code === 0 ? (JSON.parse(stdout) as Record<string, number>) : {} };
}

test("the scores are those of the rules that were asked for, and nothing else is printed", async () => {
  const { means } = await score("--rules", "r1-searcher");
  const f1 = (1 + 0.8) / 3;
  const shares = {
    em: 0,
    f1,
    acc: 2 / 3,
    precision: (1 + 2 / 3) / 3,
    recall: 2 / 3,
    coverEm1: 2 / 3,
    coverEm2: 1 / 3,
  };
  assert.deepEqual(Object.keys(means), ["n", ...Object.keys(shares)]);
  for (const [name, value] of Object.entries({ n: 3, ...shares })) {
    assert.ok(Math.abs(Number(means[name]) - value) < 1e-12, `${name}: ${means[name]}`);
  }
  assert.equal((await score("--rules", "flashrag")).means.acc, 1 / 3);
  assert.equal((await score("--rules", "nobody")).code, 2);
});

test("BLEU and ROUGE stand beside the rules' scores where they are asked for", async () => {
  const { means } = await score("--overlap");
  // One prediction of three has words of its answer: "New York" of "New York City".
  assert.deepEqual([means.bleu, (means.rouge1 ?? 0) > 0.26, means.rougeL], [0, true, means.rouge1]);
  assert.equal("bleu" in (await score()).means, false);
});

test("a judge's share, its verdicts and its failures stand beside the rules' scores", async () => {
  await using server = await startFaultServer(({ body }) => {
    const { content } = (body as { messages: [{ content: string }] }).messages[0];
    const reply = content.includes("broken?") ? "hm" : content.includes("author?") ? "yes" : "no";
    return { choices: [{ message: { content: reply } }] };
  });
  const [out, cache] = [join(folder, "out.jsonl"), join(folder, "cache.jsonl")];
  const judge = ["--judge", `${server.url},model=m,cache=${cache}`, "--out", out];
  for (let i = 0; i < 2; i++) {
    const { means, stderr } = await score(...judge);
    assert.deepEqual([means.judge, means.judged, means.judgeFailures, means.n], [0.5, 2, 1, 3]);
    assert.match(stderr, /1 answer was not judged: no judgement in "hm"/);
  }
  const lines = (await readFile(out, "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
    .map(({ judge: right, judgeReason, judgeFailure }) => [right, judgeReason, judgeFailure]);
  assert.deepEqual(lines, [
    [1, "yes", undefined],
    [0, "no", undefined],
    [null, undefined, 'no judgement in "hm"'],
  ]);
  // Two answers once, and the broken one three times in each run.
  assert.equal(server.asked.length, 2 + 3 + 3);
});

test("half a judge, and a judge that never answers, are refused", async () => {
  assert.equal((await score("--judge", "http://127.0.0.1:9")).code, 2);
  const { code, stderr } = await score("--judge", "http://127.0.0.1:9,model=m");
  assert.equal(code, 1);
  assert.match(stderr, /ERR_REMOTE: no answer could be judged; the first: http:\/\/127\.0\.0\.1:9\/v1/);
});

test("several files are scored as one, and pass@k is told over questions that stand in them several times", async () => {
  const rows = ["Ada", "Bob"].map((answer) => ({ question: "author?", answers: ["Ada"], answer }));
  const files = rows.map((_, i) => join(folder, `seed${i}.jsonl`));
  for (const [i, file] of files.entries()) await writeFile(file, `${JSON.stringify(rows[i])}\n`);
  const given = files.flatMap((file) => ["--predictions", file]);
  const { code, stdout, stderr } = await runCli("score-answers", ...given, "--pass-at", "1,2", "--json");
  assert.equal(code, 0, stderr);
  const means = JSON.parse(stdout) as Record<string, number>;
  assert.deepEqual([means.n, means.em, means["pass@1"], means["pass@2"]], [2, 0.5, 0.5, 1]);
  const few = await runCli("score-answers", "--predictions", files[0] ?? "", "--pass-at", "2");
  assert.equal(few.code, 1);
  assert.match(few.stderr, /pass@2: expected at least 2 predictions of each question, got 1 of "author\?"/);
});
