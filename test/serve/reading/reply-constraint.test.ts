/** Whatever is drawn under a reply's constraint is read as what was asked for. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type HeldReply, replyConstraint } from "../../../apps/serve/reading/grammars/reply-constraint.ts";
import { replyFormatNamed, replyFormatNames } from "../../../apps/serve/reading/reply-format.ts";
import type { Constraint } from "../../../lib/engine/constraint/constraint.ts";
import { Constraints } from "../../../lib/engine/constraint/constraints.ts";
import { Engine } from "../../../lib/engine/engine.ts";
import { packBytes, type TokenTable } from "../../../lib/engine/vocabulary.ts";
import { generateOnce, tinyModel } from "../../engine/models.ts";
import { cut, type Part, randomNumbers, readPieces } from "./replies.ts";

/** Special tokens: marks of some formats, and one of none. */
const specials = ["<think>", "[TOOL_CALLS]", "[ARGS]", "<｜tool▁call▁begin｜>", "<|other|>"];
const words = ["<tool_call>", "</think>", "</parameter>", '"}', '"}}', "}}", "\n\n", '",', "</", "é"];
const bytes = Array.from({ length: 256 }, (_, byte) => Buffer.of(byte));
const pieces = [...bytes, ...[...words, ...specials].map((text) => Buffer.from(text))];
const end = pieces.length;
const table: TokenTable = {
  vocabSize: end + 1,
  eosIds: [end],
  tokenBytes: (id) => pieces[id] ?? Buffer.of(),
  isSpecial: (id) => id >= 256 + words.length,
};
const constraints = new Constraints(table, { ...packBytes(table), vocabSize: end + 1 });
after(() => constraints.close());

/** Draws ids from the masks at random until the text ends; what ends it, and what ends a part of it, is drawn more often. */
async function draw(constraint: Constraint, seed: number, most = 600): Promise<number[] | undefined> {
  const random = randomNumbers(seed);
  const text = await constraints.open(constraint, [end]);
  const ids: number[] = [];
  let last: number[] = [];
  for (; ids.length < most; last = [ids.at(-1) as number]) {
    const mask = await text.next(Int32Array.from(last));
    const allowed = Array.from({ length: end + 1 }, (_, id) => id).filter(
      (id) => ((mask[id >> 5] as number) >>> (id & 31)) & 1,
    );
    const ends = allowed.filter((id) => id >= 256 || '"}]'.includes(String.fromCharCode(id)));
    const some = ends.length > 0 && random() < 0.5 ? ends : allowed;
    const isLast = allowed.includes(end) && random() < 0.3;
    const id = isLast ? end : (some[Math.floor(random() * some.length)] as number);
    if (id === end) {
      text.close();
      return ids;
    }
    ids.push(id);
  }
  text.close();
  return undefined;
}

const functions = [
  {
    name: "search",
    strict: true,
    parameters: {
      type: "object",
      properties: {
        query: { type: "string" },
        k: { type: "integer", minimum: 1, maximum: 9 },
        sort: { enum: ["date", "rank"] },
        tags: { type: "array", items: { type: "boolean" }, maxItems: 2 },
      },
      required: ["query", "sort"],
    },
  },
  // Begins like the other, and its schema is one that no grammar holds to.
  {
    name: "search_more",
    parameters: { type: "object", properties: { page: { type: "number", multipleOf: 2 } } },
  },
  { name: "now" },
];

const held: HeldReply = { functions, choice: "required", isParallel: true, prompt: "", reasons: false };

type Call = Extract<Part, { readonly name: string }>;
const isCall = (part: Part): part is Call => "name" in part;

/** Arguments that do not meet their schema. */
function faultOf({ name, arguments: text }: Call): string | undefined {
  const args = JSON.parse(text);
  if (typeof args !== "object" || args === null || Array.isArray(args)) return "no object";
  if (name === "search_more" || name === "now") return undefined;
  if (name !== "search") return `unknown ${name}`;
  const { query, k = 1, sort, tags = [], ...rest } = args;
  if (typeof query !== "string") return "query";
  if (!(Number.isInteger(k) && k >= 1 && k <= 9)) return "k";
  if (sort !== "date" && sort !== "rank") return "sort";
  if (!Array.isArray(tags) || tags.length > 2 || tags.some((tag) => typeof tag !== "boolean")) return "tags";
  return Object.keys(rest).length > 0 ? "others" : undefined;
}

/** Checks that there are calls, all of them of a function and with arguments that meet its schema. */
function assertCalls(parts: readonly Part[]): void {
  assert.ok(parts.length > 0 && parts.every(isCall), JSON.stringify(parts));
  for (const call of parts) assert.equal(faultOf(call), undefined, JSON.stringify(call));
}

const spell = (ids: readonly number[]): string =>
  Buffer.concat(ids.map((id) => pieces[id] ?? Buffer.of())).toString();

/** What is read of replies that are drawn; those that grow too long are left out. */
async function replies(name: string, asked: HeldReply, numSeeds = 16): Promise<Part[][]> {
  const format = replyFormatNamed(name);
  const constraint = replyConstraint(format, asked) as Constraint;
  const read: Part[][] = [];
  for (let seed = 0; seed < numSeeds; seed++) {
    const ids = await draw(constraint, seed);
    if (ids === undefined) continue;
    read.push(
      readPieces(format, cut(spell(ids), 9, seed), { functions: asked.functions, prompt: asked.prompt }),
    );
  }
  assert.ok(read.length >= numSeeds / 4, `${read.length} of ${numSeeds} replies are whole`);
  return read;
}

for (const name of replyFormatNames) {
  test(`a required call parses and meets its schema, whatever is drawn: ${name}`, async () => {
    const all = await replies(name, held);
    for (const parts of all) assertCalls(parts);
    const called = new Set(all.flat().map((part) => isCall(part) && part.name));
    assert.ok(called.size >= 2, [...called].join());
  });

  test(`one named function is called once: ${name}`, async () => {
    for (const parts of await replies(name, { ...held, choice: { name: "search_more" } }, 12))
      assert.deepEqual(
        parts.map((part) => isCall(part) && part.name),
        ["search_more"],
      );
  });

  test(`free text has calls that meet strict schemas, and one at most where they are not parallel: ${name}`, async () => {
    const seen = new Set<boolean>();
    for (const isParallel of [true, false]) {
      for (const parts of await replies(name, { ...held, choice: "auto", isParallel }, 20)) {
        const calls = parts.filter(isCall);
        for (const call of calls) assert.equal(faultOf(call), undefined, JSON.stringify(parts));
        if (!isParallel) assert.ok(calls.length <= 1, JSON.stringify(parts));
        seen.add(calls.length > 0);
      }
    }
    assert.ok(seen.has(false) || name === "llama3");
  });
}

test("reasoning is free before what is required, where the model reasons or the prompt has begun it", async () => {
  for (const [prompt, reasons] of [
    ["<think>\n", false],
    ["", true],
  ] as const) {
    const all = await replies("hermes", { ...held, prompt, reasons }, 40);
    const kinds = new Set(all.map(([first]) => Object.keys(first as Part)[0]));
    assert.ok(kinds.has("reasoning") || prompt === "", [...kinds].join());
    for (const parts of all) assert.ok(parts.some(isCall) && parts.every((part) => !("text" in part)));
  }
  const ended = await replies("hermes", { ...held, prompt: "<think>\n\n</think>\n\n", reasons: true });
  for (const parts of ended) assert.ok(parts.every(isCall));
});

test("a form of the text holds behind reasoning, and beside calls", async () => {
  const constraint = { jsonSchema: { enum: ["yes", "no"] } };
  const begun = { ...held, functions: [], choice: "none", constraint, prompt: "<think>" } as const;
  for (const parts of await replies("hermes", begun, 40)) {
    const said = parts.flatMap((part) => ("text" in part ? [part.text] : [])).join("");
    assert.match(said, /^"(yes|no)"$/);
  }
  for (const parts of await replies("hermes", { ...held, choice: "auto", constraint: { regex: "[ab]{3}" } }))
    for (const part of parts) if ("text" in part) assert.match(part.text, /^[ab]{3}$/);
});

test("a model that is free has no constraint", () => {
  const format = replyFormatNamed("hermes");
  const [, ...loose] = functions;
  assert.equal(replyConstraint(format, { ...held, functions: loose, choice: "auto" }), undefined);
  assert.equal(replyConstraint(format, { ...held, choice: "none" }), undefined);
});

test("a function that there is not, and a strict schema that no grammar holds to, are refused by name", () => {
  const refusals = [
    ["hermes", { choice: { name: "other" } }, /tool choice: expected one of the functions, got other/],
    ["hermes", { functions: [] }, /expected a function that can be called, got none/],
    [
      "hermes",
      { functions: [{ ...functions[1]!, strict: true }] },
      /function search_more: constraint: jsonSchema\.properties\.page: "multipleOf" is not held to/,
    ],
    [
      "qwen3-coder",
      {
        functions: [
          {
            name: "f",
            strict: true,
            parameters: { type: "object", properties: { a: { type: "string", maxLength: 3 } } },
          },
        ],
      },
      /function f: constraint: jsonSchema\.properties\.a: "maxLength" is not held to in calls of this form/,
    ],
  ] as const;
  for (const [name, asked, message] of refusals) {
    const refuse = (): unknown => replyConstraint(replyFormatNamed(name), { ...held, ...asked });
    assert.throws(refuse, { code: "ERR_ARGUMENT", message });
  }
});

test("a model of random weights makes required calls on the engine, whatever the seed", async () => {
  const model = await tinyModel({ numTokens: end + 1 });
  const engine = await Engine.open(model, { tokenizer: table });
  const logitBias = Object.fromEntries([...'"}]'].map((char) => [char.charCodeAt(0), 4]));
  for (const name of ["hermes", "qwen3-coder", "mistral", "llama3"]) {
    const format = replyFormatNamed(name);
    const constraint = replyConstraint(format, { ...held, isParallel: false });
    const seeds = Array.from({ length: 12 }, (_, seed) => seed);
    const options = { maxTokens: 400, temperature: 1.5, logitBias, constraint };
    const spans = await Promise.all(
      seeds.map((seed) => generateOnce(engine, Int32Array.of(65, 66, seed), { ...options, seed })),
    );
    const whole = spans.filter(({ stop }) => stop === "eos");
    assert.ok(whole.length >= 4, `${name}: ${whole.length} replies are whole`);
    for (const { ids } of whole)
      assertCalls(
        readPieces(format, [{ text: spell([...ids.subarray(0, -1)]), tokens: [0] }], { functions }),
      );
  }
  await engine.close();
  model.close();
});
