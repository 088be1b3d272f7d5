/** Bodies that take long to read are refused before they are read, and wrong lists at their first faults. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { chatRequest } from "../../apps/serve/api/chat/request.ts";
import { completionRequest } from "../../apps/serve/api/completions/request.ts";
import { messagesBody } from "../../apps/serve/api/messages/body.ts";
import { sealed, unsealed } from "../../apps/serve/api/responses/items/item.ts";
import { listField } from "../../apps/serve/http/body/list-field.ts";
import { checkedBody } from "../../apps/serve/http/body/request-body.ts";
import { zod } from "../../lib/base/on-first-use.ts";

const many = (item: string, count: number): string => `[${Array.from({ length: count }, () => item).join()}]`;
const fields = (count: number): string => Array.from({ length: count }, (_, i) => `"${i}":1`).join();
const messages = '"messages":[{"role":"user","content":"a"}]';

const bodies: readonly (readonly [string, RegExp])[] = [
  [`{"messages":${many("1", 2_000_000)}}`, /expected at most 300000 values/],
  [`{"messages":${many("{}", 500_000)}}`, /expected at most 10000 lists and objects/],
  [
    `{${messages},"logit_bias":{${Array.from({ length: 200_000 }, (_, i) => `"${i}":1`).join()}}}`,
    /at most 10000 fields of one object/,
  ],
  [`{${messages},"tools":${many('{"type":"function"}', 100_000)}}`, /at most 10000 lists and objects/],
  [
    `{"messages":[{"role":"user","content":${many('{"type":"text","text":"a"}', 300_000)}}]}`,
    /lists and objects/,
  ],
  [`{${messages},"${"k".repeat(100_000)}":1}`, /expected a name of at most 65536 bytes/],
  [`{${messages},"seed":${"1".repeat(100_000)}}`, /expected a number or white space of at most 65536 bytes/],
  [`{${messages},"seed":${" ".repeat(100_000)}1}`, /expected a number or white space of at most 65536 bytes/],
  ["[".repeat(1_000_000), /at most 256 lists and objects within each other/],
];

test("a body of too many values is refused before it is parsed", async () => {
  for (const [body, message] of bodies) {
    // The end is missing, so that a parser would say something else.
    const cut = Buffer.from(body.slice(0, -1));
    await assert.rejects(checkedBody(chatRequest(), cut), { code: "invalid_request", message });
  }
});

test("a wrong list is read to its first faults, however long it is", async () => {
  const z = zod();
  let numRead = 0;
  const item = z.string().or(
    z.custom(() => {
      numRead += 1;
      return false;
    }),
  );
  const schema = z.object({ queries: listField(item) });
  const body = Buffer.from(JSON.stringify({ queries: Array.from({ length: 250_000 }, () => 1) }));
  await assert.rejects(checkedBody(schema, body), { code: "invalid_request", message: /^queries\[0\]: / });
  assert.ok(numRead < 100, `${numRead} items were read`);
  for (const prompt of [many("true", 250_000), many('"a"', 250_000).replace(/"a"\]$/, "1]")]) {
    const wrong = Buffer.from(`{"prompt":${prompt}}`);
    await assert.rejects(checkedBody(completionRequest(), wrong), { code: "invalid_request" });
  }
});

test("a list that is too long is refused before its items are looked at", async () => {
  const z = zod();
  const item = z.custom(() => assert.fail("an item was read"));
  const schema = z.object({ queries: listField(item, { min: 1, max: 3 }) });
  const read = (queries: unknown): Promise<unknown> =>
    checkedBody(schema, Buffer.from(JSON.stringify({ queries })));
  await assert.rejects(read([1, 2, 3, 4]), { message: /at most 3 items/ });
  await assert.rejects(read([]), { message: /at least 1 item/ });
  await assert.rejects(read("a"), { message: /valid list/ });
  await assert.rejects(read(undefined), { message: /queries: Field required/ });
});

test("a body of ordinary size is read", async () => {
  const text = "x".repeat(4_000_000);
  const long = {
    messages: [
      { role: "user", content: text },
      ...Array.from({ length: 2000 }, () => ({ role: "user", content: "a" })),
    ],
  };
  const { messages: read } = await checkedBody(chatRequest(), Buffer.from(JSON.stringify(long)));
  assert.deepEqual([read.length, read[0]?.content], [2001, text]);
  const ids = Array.from({ length: 250_000 }, (_, i) => i % 1000);
  const { prompt } = await checkedBody(completionRequest(), Buffer.from(JSON.stringify({ prompt: ids })));
  assert.deepEqual(prompt, ids);
});

test("JSON within the arguments of calls has the bounds of a body, all calls together", async () => {
  const read = (args: readonly string[]): Promise<unknown> => {
    const calls = args.map((text) => ({
      id: "a",
      type: "function",
      function: { name: "f", arguments: text },
    }));
    const body = { messages: [{ role: "assistant", content: null, tool_calls: calls }] };
    return checkedBody(chatRequest(), Buffer.from(JSON.stringify(body)));
  };
  const deep = `{"a":${"[".repeat(300)}${"]".repeat(300)}}`;
  const refused: readonly (readonly [readonly string[], RegExp])[] = [
    [[deep], /arguments.* at most 256 lists and objects within each other/],
    [[`{"a\\"":"]\\\\",${deep.slice(1)}`], /at most 256 lists and objects within each other/],
    [["]".repeat(1000), deep], /at most 256 lists and objects within each other/],
    [[`{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`], /lists and objects/],
    [[`{"a":${many("[]", 20_000)}}`], /at most 10000 lists and objects/],
    [Array.from({ length: 30 }, () => `{"a":${many("[]", 500)}}`), /at most 10000 lists and objects/],
    [[`{${fields(10_001)}}`], /at most 10000 fields of one object/],
    [[`{"a":[${Array.from({ length: 11 }, () => `{${fields(10_000)}}`).join()}]}`], /at most 100000 fields/],
    [[`{"a":${many("1", 400_000)}}`], /at most 300000 values/],
    [[`{"a":"${"x".repeat(1 << 20)}"}`], /at most 1048576 characters/],
  ];
  for (const [args, message] of refused)
    await assert.rejects(read(args), { code: "invalid_request", message });
  const brackets = JSON.stringify({ a: '[{\\"'.repeat(100_000), b: "x".repeat(200_000) });
  await read([brackets, "not JSON", deep.replace(/\[{60}/, "").replace(/\]{60}/, "")]);
});

test("an item that the server did not give out is told without reading what stands in it", () => {
  for (const text of ["", 'a"\\\n]}', "é"]) assert.equal(unsealed(sealed(text)), text);
  const coded = (text: string): string => Buffer.from(text).toString("base64url");
  for (const other of ['{"text":"a","b":[[]]}', '{"b":[],"text":"a"}', '{"text":1}', "[]", "x"])
    assert.equal(unsealed(coded(other)), undefined, other);
});

test("a text that ends an answer has at most a thousand characters", async () => {
  const ends = (text: string): Promise<unknown>[] => [
    checkedBody(chatRequest(), Buffer.from(`{${messages},"stop":"${text}"}`)),
    checkedBody(chatRequest(), Buffer.from(`{${messages},"stop":["${text}"]}`)),
    checkedBody(completionRequest(), Buffer.from(`{"prompt":"a","stop":["a","${text}"]}`)),
    checkedBody(
      messagesBody(),
      Buffer.from(`{"model":"m","max_tokens":1,${messages},"stop_sequences":["${text}"]}`),
    ),
  ];
  await Promise.all(ends("a".repeat(1000)));
  for (const ended of await Promise.allSettled(ends("a".repeat(1001)))) {
    assert.ok(ended.status === "rejected");
    assert.equal(ended.reason.code, "invalid_request");
    assert.match(ended.reason.message, /^stop.* at most 1000 characters/);
  }
});
