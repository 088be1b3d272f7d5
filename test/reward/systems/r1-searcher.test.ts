/** R1-Searcher's rewards by stage, in the paper's and in the code's form. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { r1SearcherReward } from "../../../lib/reward/systems/r1-searcher.ts";
import { r1SearcherFormat } from "../../../lib/rollout/formats/r1-searcher.ts";
import { asks, spoken } from "../spoken.ts";

const query = "I wonder. <|begin_of_query|> q <|end_of_query|>";
const found = r1SearcherFormat().observation(["q"], [[{ title: "Rome", text: "a city" }]], (text) => text);
const answer = (text: string): string => `So. </think>\n<answer> ${text} </answer>`;
const searched = spoken(query, found, answer("Rome"));
const unsearched = spoken(answer("Rome"));

test("stage 1 of the paper pays for a search and for form, not for the answer", () => {
  const reward = r1SearcherReward({ stage: 1 });
  for (const gold of ["Rome", "Oslo"]) {
    assert.equal(reward(searched, asks(gold)), 1);
    assert.equal(reward(unsearched, asks(gold)), 0.5);
  }
  assert.equal(reward(spoken(query, found, "Rome"), asks("Rome")), 0.5);
  assert.equal(reward(spoken("Rome"), asks("Rome")), 0);
});

test("stage 1 of the code also adds 1 for a covered answer and takes 1 for another", () => {
  for (const faithful of [false, true]) {
    const reward = r1SearcherReward({ stage: 1, variant: "code", faithful });
    assert.equal(reward(searched, asks("Rome")), 2);
    assert.equal(reward(searched, asks("Oslo")), 0);
    assert.equal(reward(unsearched, asks("Rome")), 1.5);
    assert.equal(reward(spoken("Rome"), asks("Rome")), -1);
  }
});

test("stage 2 pays the answer's F1 and takes 2 for bad form, or 1 in the code of the Llama run", () => {
  const cases = [
    [{ stage: 2 }, 1, -1],
    [{ stage: 2, variant: "code" }, 1, 0],
    [{ stage: "zero" }, 1, -1],
    [{ stage: "zero", variant: "code" }, 1, -1],
  ] as const;
  for (const [options, good, bad] of cases) {
    for (const faithful of [false, true]) {
      const reward = r1SearcherReward({ ...options, faithful });
      assert.equal(reward(searched, asks("Rome")), good);
      assert.equal(reward(unsearched, asks("Rome")), good);
      assert.equal(reward(spoken(`<think>${answer("Rome")}`), asks("Rome")), bad);
      assert.equal(reward(spoken(`之${answer("Rome")}`), asks("Rome")), bad);
    }
  }
  assert.equal(r1SearcherReward({ stage: 2 })(spoken(answer("New Rome")), asks("Rome")), 2 / 3);
  assert.equal(r1SearcherReward({ stage: 2 })(spoken("no answer"), asks("Rome")), -2);
});

test("the code of the zero stage also refuses speaking of an assistant and long answers", () => {
  const long = "one two three four five six seven eight nine ten eleven";
  const said = [spoken(`The Assistant. ${answer("Rome")}`), spoken(answer(long))];
  const [code, paper] = (["code", "paper"] as const).map((variant) =>
    r1SearcherReward({ stage: "zero", variant }),
  );
  for (const each of said) {
    assert.ok(Number(code?.(each, asks("Rome", "one"))) < 0);
    assert.ok(Number(paper?.(each, asks("Rome", "one"))) > 0);
  }
});

test("documents that the policy makes up are bad form, and never a search", () => {
  const fabricated = spoken(`${query}${found}${answer("Rome")}`);
  assert.equal(r1SearcherReward({ stage: 1 })(fabricated, asks("Rome")), 0.5);
  assert.equal(r1SearcherReward({ stage: 2 })(fabricated, asks("Rome")), -1);
  assert.equal(
    r1SearcherReward({ stage: 2, faithful: true })(fabricated, asks("Rome")),
    1,
    "the original sees no difference",
  );
  const unasked = spoken(`${found}${answer("Rome")}`);
  assert.equal(r1SearcherReward({ stage: 1 })(unasked, asks("Rome")), 0.5);
  assert.equal(r1SearcherReward({ stage: 2 })(unasked, asks("Rome")), -1);
});

test("the original's code wants all seven marks of a search equally often", () => {
  const reward = r1SearcherReward({ stage: 2, faithful: true });
  assert.equal(reward(searched, asks("Rome")), 1);
  const spoiled = ["\n(1)", "(1)", "<|begin_of_documents|>", "<|end_of_documents|>", "\n\n"];
  for (const mark of spoiled) {
    const without = found.slice(0, 2) + found.slice(2).replace(mark, "");
    assert.equal(reward(spoken(query, without, answer("Rome")), asks("Rome")), -1, mark);
  }
  for (const mark of ["<|begin_of_query|>", "<|end_of_query|>"]) {
    assert.equal(reward(spoken(query.replace(mark, ""), found, answer("Rome")), asks("Rome")), -1, mark);
  }
});

test("tags in what was found count only when the whole response is read", () => {
  const spiked = spoken(query, found.replace("a city", "</think> 之"), answer("Rome"));
  assert.equal(r1SearcherReward({ stage: 2 })(spiked, asks("Rome")), 1);
  assert.equal(r1SearcherReward({ stage: 2, faithful: true })(spiked, asks("Rome")), -1);
});

test("an answer may earn 1 or lose 1 by exact match or by its words", () => {
  const reversed = spoken(answer("Madison James"));
  const earns = (kind: "em" | "cover"): number =>
    r1SearcherReward({ stage: 2, answer: kind })(reversed, asks("James Madison"));
  assert.deepEqual([earns("em"), earns("cover")], [-1, 1]);
});
