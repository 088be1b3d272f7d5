/** Runs as a page: what it shows is what the run says, and it can do nothing else. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseHTML } from "linkedom";
import { htmlReport } from "../../../apps/runs/export/html/report.ts";
import { scaleOf } from "../../../apps/runs/export/html/scale.ts";
import { sampleRun, sampleTrajectory } from "./sample-run.ts";

const version = "0.1.0";
const metrics = Array.from({ length: 500 }, (_, i) => ({
  step: i + 1,
  "reward/mean": i / 500,
  "seconds/train": 1,
}));

async function pageOf(parts: Parameters<typeof sampleRun>[0], numTraces?: number) {
  const html = await htmlReport(sampleRun(parts), { version, numTraces });
  return { html, document: parseHTML(html).document };
}

test("what models and passages say is text, and nothing of the page asks for anything", async () => {
  const evil = `<script>alert(1)</script><img src="http://example.org/x.png" onerror='x'>`;
  const segments = [{ kind: "observation" as const, text: evil }];
  const trajectories = [sampleTrajectory({ question: evil, answer: evil, answers: [evil], segments })];
  const { html, document } = await pageOf({ name: evil, options: { [evil]: evil }, trajectories, metrics });
  assert.equal(document.querySelectorAll("script, img, link, iframe, [src], [href], [onerror]").length, 0);
  assert.equal(document.querySelector("section.observation .text")?.textContent, evil);
  assert.equal(document.querySelector("h1")?.textContent, evil);
  const policy = document.querySelector("meta[http-equiv]")?.getAttribute("content");
  assert.equal(policy, "default-src 'none'; style-src 'unsafe-inline'");
  assert.doesNotMatch(html, /url\(|@import/);
});

test("a curve says in words what it shows, and long ones stay small", async () => {
  const { html, document } = await pageOf({ metrics });
  const [picture] = document.querySelectorAll("svg");
  assert.equal(picture?.getAttribute("role"), "img");
  assert.equal(
    picture?.getAttribute("aria-label"),
    "reward/mean: 0 at step 1, 0.998 at step 500; lowest 0, highest 0.998",
  );
  assert.ok(html.length < 40_000, `${html.length} characters`);
  const path = picture?.querySelector(".line")?.getAttribute("d") ?? "";
  const heights = [...path.matchAll(/ ([\d.]+)/g)].map(([, y]) => Number(y));
  assert.deepEqual(
    heights,
    [...heights].sort((a, b) => b - a),
    "a curve that rises is drawn rising",
  );
});

test("steps without a number, and numbers that are none, leave a curve of the others", async () => {
  const rows = [{ step: 1, loss: Number.NaN }, { step: 2, loss: 3 }, { step: 3 }, { step: 4, loss: 1 }];
  const { html, document } = await pageOf({ metrics: rows as never });
  assert.match(
    document.querySelector("svg")?.getAttribute("aria-label") ?? "",
    /loss: 3 at step 2, 1 at step 4/,
  );
  assert.doesNotMatch(html.match(/<svg[\s\S]*<\/svg>/)?.[0] ?? "", /NaN|Infinity/);
});

test("tokens have the colour of their probability, and together they are the text", async () => {
  const probabilities = [0.95, 0.6, 0.3, 0.1, 0.01];
  const tokens = probabilities.map((p, i) => ({ text: ` w${i}`, logprob: Math.log(p) }));
  const segments = [{ kind: "policy" as const, text: " w0 w1 w2 w3 w4", tokens: () => tokens }];
  const { document } = await pageOf({ trajectories: [sampleTrajectory({ segments })] });
  const text = document.querySelector("section.policy .text");
  assert.equal(text?.textContent, " w0 w1 w2 w3 w4");
  const coloured = [...(text?.querySelectorAll("span") ?? [])].map((span) => [
    span.className,
    span.textContent,
  ]);
  assert.deepEqual(coloured, [
    ["p1", " w1"],
    ["p2", " w2"],
    ["p3", " w3"],
    ["p4", " w4"],
  ]);
  assert.match(document.querySelector(".legend")?.textContent ?? "", /below 0\.05/);
});

test("half of the conversations are the best, half the worst, one attempt a question in each", async () => {
  const trajectories = [3, 9, 1, 9, 5, 2].map((reward, i) => {
    const questionId = i === 3 ? "q1" : `q${i}`;
    return sampleTrajectory({ question: `Q${i}`, questionId, scores: { reward } });
  });
  const { document } = await pageOf({ trajectories }, 4);
  const shown = [...document.querySelectorAll(".question")].map((each) => each.textContent);
  assert.deepEqual(shown, ["Q1", "Q4", "Q2", "Q5"]);
});

test("results stand with their intervals", async () => {
  const figures = [
    { name: "em", value: 0.41234, interval: [0.3, 0.5] as const },
    { name: "rounds", value: 2 },
  ];
  const { document } = await pageOf({ kind: "evaluation", figures });
  const rows = [...document.querySelectorAll("tbody tr")].map((row) =>
    [...row.children].map((cell) => cell.textContent),
  );
  assert.deepEqual(rows.slice(0, 2), [
    ["em", "0.4123", "0.3 to 0.5"],
    ["rounds", "2", ""],
  ]);
});

test("an axis holds every value between round numbers, whatever their size", () => {
  for (const values of [[0], [5, 5], [1e-9, 3e-9], [-0.2, 0.7], [1e12, -1e12], [0.1, 0.3]]) {
    const { from, to, ticks } = scaleOf(values, 4);
    assert.ok(
      values.every((value) => value >= from && value <= to),
      String(values),
    );
    assert.ok(from < to && ticks.length >= 2 && ticks.length <= 8, `${values}: ${ticks}`);
    assert.ok(
      ticks.every(
        (tick) =>
          String(tick)
            .replace(/e.*|[-.]/g, "")
            .replace(/^0+|0+$/g, "").length <= 2,
      ),
      String(ticks),
    );
  }
});
