/** Agentic-RAG-R1's rewards: form that cannot be had for nothing, the original's points, and what falls on which token. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  agenticForm,
  agenticFormatReward,
  agenticFormReward,
  optionReward,
} from "../../../lib/reward/systems/agentic-rag.ts";
import { agenticFormTokens, agenticPointTokens } from "../../../lib/reward/systems/agentic-tokens.ts";
import { characters } from "../../rollout/doubles.ts";
import { asks, segment, spoken, trajectory } from "../spoken.ts";

const turn = (text: string) => segment("policy", text);
const found = segment("observation", "\n<observation>\n- Rome: a city\n</observation>\n");
const search = (query: string) => turn(`<search> [Wiki_RAG] ${query} </search>`);
const answer = turn("<answer> Rome </answer>");
const near = (actual: number, expected: number): void =>
  assert.ok(Math.abs(actual - expected) < 1e-12, `${actual} is not ${expected}`);

test("a sound conversation earns the whole point for form, with or without its actions", () => {
  const whole = trajectory(
    segment("prompt", "<answer> and </answer>"),
    ...[turn("<plan> p </plan>"), turn("\n<reasoning> r </reasoning>"), search("a"), found],
    ...[turn("<backtrack> b </backtrack>"), search("b"), found, turn("<summary> s </summary>"), answer],
  );
  assert.equal(agenticFormReward(whole), 1);
  assert.equal(agenticFormReward(trajectory(answer)), 1);
  assert.equal(agenticFormReward(trajectory(turn("<answer> Rome </answer><|end|>"))), 1);
});

test("actions that make no sense earn nothing, and more of them never earn more", () => {
  const faults: [string, readonly ReturnType<typeof turn>[]][] = [
    ["nothing to take back", [turn("<backtrack> b </backtrack>"), answer]],
    ["nothing to sum up", [turn("<summary> s </summary>"), answer]],
    ["a search that was made before", [search("a"), found, search("a"), found, answer]],
    ["an observation of its own making", [turn("<observation> o </observation>"), answer]],
    ["an answer before the end", [answer, turn("<reasoning> r </reasoning>")]],
    ["words outside of tags", [turn("so <answer> Rome </answer>")]],
    ["<search> is not closed", [turn("<search> a"), answer]],
    ["no action", [turn(""), answer]],
    ["an answer without letters or digits", [turn("<answer></answer>")]],
  ];
  for (const [fault, segments] of faults) {
    const played = trajectory(...segments);
    assert.ok(
      agenticForm(played).some((each) => each.fault === fault),
      fault,
    );
    assert.ok(agenticFormReward(played) < 1, fault);
  }
  const padded = (count: number) =>
    agenticFormReward(
      trajectory(...Array.from({ length: count }, () => turn("<summary> s </summary>")), answer),
    );
  assert.ok(padded(1) < 1 && padded(2) < padded(1) && padded(9) < padded(2));
  assert.equal(agenticFormReward(trajectory(turn("Rome"))), 0);
});

test("with self-search the policy's own observations are sound", () => {
  const own = trajectory(turn("<search> a </search><observation> o </observation>"), answer);
  assert.equal(agenticFormReward(own, { selfSearch: true }), 1);
  assert.ok(agenticFormReward(own) < 1);
});

test("faithfully, the tags of the prompt are counted, so that no answer is the only one", () => {
  const prompt = segment("prompt", "<reasoning></reasoning><answer></answer>");
  assert.equal(agenticFormatReward(trajectory(prompt, answer)), 0.4);
  assert.equal(agenticFormatReward(trajectory(prompt, answer), { faithful: true }), 0.4);
  assert.equal(agenticFormatReward(trajectory(prompt, found, answer), { faithful: true }), 0.4);
  const withAnswer = trajectory(segment("prompt", "<answer> x </answer>"), answer);
  assert.equal(agenticFormatReward(withAnswer, { faithful: true }), 0);
});

test("an option is right by its letter, its words, or both; words that begin with a letter name none", () => {
  const asked = asks("insulin", "B. insulin");
  for (const right of ["B", "(b)", "B. glucagon", "insulin", "Insulin.", "B、胰岛素"]) {
    assert.equal(optionReward(spoken(`<answer> ${right} </answer>`), asked), 1, right);
  }
  for (const wrong of ["A", "A. insulin", "bile", "B cells", ""]) {
    assert.equal(optionReward(spoken(`<answer> ${wrong} </answer>`), asked), 0, wrong);
  }
  assert.equal(optionReward(spoken("B"), asked), 0);
});

const sum = (values: ArrayLike<number>): number =>
  Array.from(values).reduce((total, value) => total + value, 0);

test("lost points for form fall on the turns that lost them, and with the whole point add up to the reward", () => {
  const played = trajectory(turn("<summary> s </summary>"), search("a"), found, answer);
  const worth = agenticFormTokens()(played);
  const lengths = [0, 1, 3].map((i) => played.segments[i]?.tokens.length ?? 0);
  assert.equal(worth.length, sum(lengths));
  near(1 + sum(worth), agenticFormReward(played));
  near(sum(worth.subarray(0, lengths[0])), -0.6 / 3);
  assert.ok(worth.subarray(lengths[0]).every((share) => share === 0));
  const unanswered = trajectory(search("a"), found, search("b"));
  near(1 + sum(agenticFormTokens()(unanswered)), agenticFormReward(unanswered));
});

test("where all is sound no token is worth anything, however many turns there are", () => {
  const long = trajectory(
    turn("<plan> p </plan>"),
    search("a"),
    found,
    turn("<summary> s </summary>"),
    answer,
  );
  for (const sound of [long, trajectory(answer)]) {
    assert.ok(agenticFormTokens()(sound).every((share) => share === 0));
  }
});

const points = "<reasoning>r</reasoning><search>q</search><answer>a</answer>";

test("the original's points fall on the tokens of their tags and add up to the reward", async () => {
  const played = trajectory(segment("prompt", "?"), turn(points), found, turn("<backtrack>b</backtrack>"));
  const worth = await agenticPointTokens({ tokenizer: characters })(played, asks("a"));
  near(sum(worth), agenticFormatReward(played));
  const text = `${points}<backtrack>b</backtrack>`;
  for (const [tag, score] of [
    ["<reasoning>", 0.2],
    ["</reasoning>", 0.2],
    ["<backtrack>", 0.2],
  ] as const) {
    const start = text.indexOf(tag);
    near(sum(worth.subarray(start, start + tag.length)), score);
  }
  const between = points.indexOf("r</reasoning>");
  assert.equal(worth[between], 0);
});

test("faithfully, every token gets the whole of a score: the table of the original, token by token", async () => {
  const played = trajectory(turn(points));
  const worth = await agenticPointTokens({
    ...{ tokenizer: characters, faithful: true },
    ...{ accuracy: () => 3, relevance: () => 2 },
  })(played, asks("a"));
  const at = (part: string, offset = 0) => worth[points.indexOf(part) + offset] ?? Number.NaN;
  near(at("r</reasoning>"), 3);
  near(at("<reasoning>"), 3.2);
  near(at("</search>"), 3 + 0.2 + 2);
  near(at("q</search>"), 3 + 2);
  near(at("<answer>", 3), 3.4);
});

test("a token that is more than a tag, or less, is found by its text", async () => {
  const pieces = ["\n<se", "arch>q", "</search>", "<answer>a</answer>"];
  const tokenizer = { decode: (ids: Int32Array) => Array.from(ids, (id) => pieces[id] ?? "").join("") };
  const said = { kind: "policy", text: pieces.join(""), tokens: Int32Array.of(0, 1, 2, 3) } as const;
  const worth = await agenticPointTokens({ tokenizer })(trajectory(said), asks("a"));
  const share = 0.2 / 3;
  for (const [i, expected] of [share, share, share, 0.4].entries()) near(worth[i] ?? Number.NaN, expected);
});

test("a character of several tokens belongs to the token that completes it", async () => {
  const bytes = new TextEncoder().encode("东<answer>a</answer>");
  const tokenizer = { decode: (ids: Int32Array) => new TextDecoder().decode(Uint8Array.from(ids)) };
  const said = { kind: "policy", text: "东<answer>a</answer>", tokens: Int32Array.from(bytes) } as const;
  const worth = await agenticPointTokens({ tokenizer })(trajectory(said), asks("a"));
  assert.deepEqual([...worth.subarray(0, 3)], [0, 0, 0]);
  near(sum(worth.subarray(3, 3 + "<answer>".length)), (0.4 * 8) / 17);
});
