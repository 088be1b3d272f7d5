/** Bodies with long texts are read as JSON.parse reads them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { zod } from "../../lib/base/on-first-use.ts";
import { checkedBody } from "../../lib/serve/http/body/request-body.ts";
import { randomNumbers } from "./reading/replies.ts";

const read = (body: string | Buffer): Promise<unknown> => checkedBody(zod().unknown(), Buffer.from(body));
const pieces = ["a", "\\", '"', "\n", "é", "日", "😀", "\u0001", "\ufeff", "\ud800", "/", "u0041", "\\\\"];

function textOf(random: () => number, length: number): string {
  const few = pieces.filter(() => random() < 0.5);
  return Array.from({ length }, () => few[Math.floor(random() * few.length)] ?? "x").join("");
}

const escaped = (text: string): string =>
  `"${Array.from({ length: text.length }, (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, "0")}`).join("")}"`;

test("long texts are what JSON.parse makes of them, wherever they stand and however they are written", async () => {
  const random = randomNumbers(5);
  for (let i = 0; i < 6; i++) {
    const text = textOf(random, 150_000 + i);
    const written = i % 3 === 0 ? escaped(text) : JSON.stringify(text);
    const body = `{"a":[1,${written},{"b" : ${written} }],${written}: 2,"__proto__":${written},"c":"short"}`;
    assert.deepEqual(await read(body), JSON.parse(body));
    assert.deepEqual(await read(written), JSON.parse(written));
  }
});

test("others have their turn while a long text is read", async () => {
  const body = JSON.stringify({ text: "word ".repeat(3_000_000) });
  let [numTurns, isDone] = [0, false];
  const others = (): void => {
    numTurns += 1;
    if (!isDone) setImmediate(others);
  };
  setImmediate(others);
  await read(body);
  isDone = true;
  assert.ok(numTurns >= 3, `${numTurns} turns`);
});

test("a long text that is malformed is refused", async () => {
  const long = "x".repeat(200_000);
  const wrong = Buffer.concat([Buffer.from(`["${long}`), Buffer.of(0xff), Buffer.from('"]')]);
  for (const body of [
    `["${long}\\q"]`,
    `["${long}\n"]`,
    `["${long}\\u12"]`,
    `["${long}`,
    `["${long}"`,
    `["${long}"]]`,
    wrong,
  ])
    await assert.rejects(read(body), { code: "malformed_json" });
});
