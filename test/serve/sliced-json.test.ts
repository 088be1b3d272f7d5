/** Long bodies are read in slices as JSON.parse reads them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Extent } from "../../apps/serve/http/body/extent.ts";
import { parseJson } from "../../apps/serve/http/body/parse-json.ts";
import { checkedBody } from "../../apps/serve/http/body/request-body.ts";
import { zod } from "../../lib/base/on-first-use.ts";
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
    const body = `{"a":[1,${written},{"b" : ${written} }],"b":2,"__proto__":${written},"c":"short"}`;
    assert.deepEqual(await read(body), JSON.parse(body));
    assert.deepEqual(await read(written), JSON.parse(written));
  }
});

function anyValue(random: () => number, depth: number): unknown {
  const kind = depth === 0 ? 0 : Math.floor(random() * 3);
  const length = Math.floor(random() ** 2 * 12);
  if (kind === 0) return random() < 0.5 ? random() * 1e6 : textOf(random, length * 5);
  const items = Array.from({ length }, () => anyValue(random, depth - 1));
  if (kind === 1) return items;
  return Object.fromEntries(items.map((item, i) => [i === 3 ? "__proto__" : `é"${i}`, item]));
}

test("values of all sizes are what JSON.parse makes of them, and what it refuses is refused", async () => {
  const random = randomNumbers(9);
  const wrong = [",", "]", "}", "[", '"', "x", "\\", ":", " 1 ", "{", "-", "\u0000"];
  for (let i = 0; i < 1000; i++) {
    const body = JSON.stringify(anyValue(random, 4), undefined, i % 3);
    const inSlices = (bytes: Buffer): Promise<unknown> => parseJson(bytes, new Extent(), 16 + (i % 50));
    assert.deepEqual(await inSlices(Buffer.from(body)), JSON.parse(body));
    const at = Math.floor(random() * body.length);
    const cut = `${body.slice(0, at)}${wrong[i % wrong.length]}${body.slice(at + (i % 2))}`;
    const bytes = Buffer.from(cut);
    let expected: { readonly value: unknown } | undefined;
    try {
      expected = { value: JSON.parse(bytes.toString()) };
    } catch {}
    if (expected === undefined) await assert.rejects(inSlices(bytes));
    else assert.deepEqual(await inSlices(bytes), expected.value);
  }
});

test("a long field with white space on all sides is read, and a fault in a long text is told where it stands", async () => {
  const [space, text] = [" ".repeat(60_000), JSON.stringify("x".repeat(60_000))];
  const field = `{${space}${text}${space}:${space}${text}${space}}`;
  assert.deepEqual(await read(field), JSON.parse(field));
  const broken = `"${"a".repeat(200_000)}\u0001"`;
  await assert.rejects(
    read(broken),
    ({ message }: Error) => Number(/position (\d+)/.exec(message)?.[1]) >= 200_000,
  );
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

test("a long body that is malformed is refused", async () => {
  const long = "x".repeat(200_000);
  const wrong = Buffer.concat([Buffer.from(`["${long}`), Buffer.of(0xff), Buffer.from('"]')]);
  for (const body of [
    `["${long}\\q"]`,
    `["${long}\n"]`,
    `["${long}\\u12"]`,
    `["${long}`,
    `["${long}"`,
    `["${long}"]]`,
    `["${long}",]`,
    `[,"${long}"]`,
    `["${long}" 1]`,
    `[-"${long}"]`,
    `["${long}""${long}"]`,
    `{"a":"${long}",}`,
    `{"a" "${long}"}`,
    `{"${long}"}`,
    `{"a":["${long}"}`,
    `"${long}","${long}"`,
    `"${long}" "a"`,
    " ".repeat(65_536),
    '""'.repeat(300_000),
    wrong,
  ])
    await assert.rejects(read(body), { code: "malformed_json" });
});
