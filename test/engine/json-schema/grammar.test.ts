/** Which texts the grammar of a JSON schema takes. */
import assert from "node:assert/strict";
import { isIPv4, isIPv6 } from "node:net";
import { test } from "node:test";
import { jsonSchemaGrammar } from "../../../lib/engine/constraint/json-schema/json-schema.ts";
import { taker } from "../grammar/follow.ts";

const takes = (schema: object) => taker(jsonSchemaGrammar(schema));

async function assertTakes(schema: object, taken: readonly string[], left: readonly string[]): Promise<void> {
  const check = takes(schema);
  for (const text of taken) assert.ok(check(text), `${JSON.stringify(schema)} has to take ${text}`);
  for (const text of left) assert.ok(!check(text), `${JSON.stringify(schema)} must not take ${text}`);
}

test("strings are JSON, of the length and the expression that the schema says", async () => {
  const string = (more: object): object => ({ type: "string", ...more });
  await assertTakes(
    string({ maxLength: 3 }),
    ['""', '"abc"', '"日本é"', '"\\n\\u00e9\\""', '"\\u0001/\\/"'],
    ['"abcd"', '"\n"', '"\x1c"', '"\\x"', '"\\ud800"', '"a', '"日本éa"', "abc"],
  );
  await assertTakes(string({ minLength: 2 }), ['"ab"', '"abcdefghijklmnopqrstuvwxyz"'], ['"a"', '"\\n"']);
  await assertTakes(
    string({ minLength: 16, maxLength: 40 }),
    [`"${"a".repeat(16)}"`, `"${"a".repeat(40)}"`],
    [`"${"a".repeat(15)}"`, `"${"a".repeat(41)}"`],
  );
  const letters = (count: number): string => JSON.stringify("é".repeat(count));
  await assertTakes(
    string({ maxLength: 200 }),
    [0, 1, 63, 64, 150, 199, 200].map(letters),
    [201, 202, 250].map(letters),
  );
  for (const least of [79, 80, 81, 111, 112, 500]) {
    const [enough, tooFew] = [least, least - 1].map((length) =>
      JSON.stringify("éa\n".repeat(length).slice(0, length)),
    );
    await assertTakes(
      string({ minLength: least }),
      [enough as string, `"${"x".repeat(least + 40)}"`],
      [tooFew as string],
    );
  }
  await assertTakes(
    string({ minLength: 150, maxLength: 300 }),
    [150, 240, 300].map(letters),
    [149, 301].map(letters),
  );
  await assertTakes(string({}), ['""', '"\\ud83d\\ude00"', '"😀"'], ['"\\ud83d"', '"\t"', '"a""']);
  await assertTakes(
    string({ pattern: "^a.b$" }),
    ['"a.b"', '"a\\"b"', '"a\\\\b"', '"a\\tb"'],
    ['"ab"', '"a\x01b"', '"a\\nb"', '"xa.b"'],
  );
  await assertTakes(string({ pattern: "b+" }), ['"b"', '"abba"'], ['"ac"', '""']);
  await assertTakes(string({ pattern: "^[é-ë\\d]{2,}|x$" }), ['"é4"', '"12345ab"', '"abx"'], ['"1"', '"xa"']);
  await assertTakes(string({ pattern: "^(?:a|(?<n>bc)){2}$|^$" }), ['"abc"', '"aa"', '""'], ['"a"', '"aaa"']);
});

test("numbers of a range are those within it", async () => {
  const bounds = [0, 1, -1, 5, 5.5, 0.1, -0.25, 99.999, 100, 1234.5, -40, 1e-7, 2 ** 53];
  const keys = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"];
  const numbers = [
    "0",
    "1",
    "-1",
    "5",
    "5.5",
    "5.25",
    "5.49",
    "5.51",
    "0.1",
    "0.11",
    "0.09",
    "-0.25",
    "-0.2",
    "-0.3",
  ];
  numbers.push(
    "0.5",
    "-0.5",
    "1.5",
    "-1.5",
    "99.999",
    "99.9989",
    "100",
    "100.1",
    "1234.5",
    "1234.499",
    "-40",
    "-40.5",
    "7",
    "10",
    "39",
  );
  numbers.push("999999", "-999999", "0.0000001", "0.0000002", "123456789.125");
  for (const [i, first] of bounds.entries()) {
    const second = bounds[(i * 5 + 3) % bounds.length]!;
    for (const [j, low] of keys.slice(0, 2).entries())
      for (const high of keys.slice(2 + ((i + j) % 2), 3 + ((i + j) % 2))) {
        const range = { [low]: Math.min(first, second), [high]: Math.max(first, second) };
        for (const type of ["number", "integer"])
          for (const each of [range, { [low]: first }, { [high]: first }])
            await checkRange({ type, ...each }, numbers);
      }
  }
});

async function checkRange(schema: Record<string, unknown>, numbers: readonly string[]): Promise<void> {
  const { type, minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below } = schema;
  const isWithin = (x: number): boolean =>
    !(x < Number(minimum)) && !(x > Number(maximum)) && !(x <= Number(above)) && !(x >= Number(below));
  let check: (text: string) => boolean;
  try {
    check = takes(schema);
  } catch (error) {
    assert.match(String(error), /no number of at most 15 digits is within the bounds/);
    const whole = Array.from({ length: 3000 }, (_, i) => i - 1500);
    assert.ok(!whole.some(isWithin) || type === "number", JSON.stringify(schema));
    return;
  }
  for (const text of numbers.filter((each) => type === "number" || !each.includes(".")))
    assert.equal(check(text), isWithin(Number(text)), `${JSON.stringify(schema)}: ${text}`);
}

test("values that begin alike are told apart", async () => {
  const names = ["alpha", "alphabet", "beta", "betas", "gamma-1", "gamma-12", "gamma-2", "delta", "delphi"];
  await assertTakes(
    { enum: names },
    names.map((name) => JSON.stringify(name)),
    ['"alphas"', '"betabet"', '"gamma-"', '"gamma-11"', '"gamma"', '"gamma-122"', '"delpha"', '"alph"'],
  );
  const pattern = "^(?:[2-9]\\d{3}|[1-9]\\d{4}|[1-9]\\d{5}|[1-9]\\d{6}|[1-9]\\d{7})$";
  const digits = (count: number): string => `"${"2".repeat(count)}"`;
  await assertTakes({ type: "string", pattern }, [4, 5, 6, 7, 8].map(digits), [1, 2, 3, 9, 10].map(digits));
});

test("objects have their properties in order, and others where the schema allows them", async () => {
  const a = { type: "null" };
  const properties = { a, ab: a, c: a };
  const object = { type: "object", properties };
  await assertTakes(
    object,
    ["{}", '{"a":null}', '{ "ab" : null,\n"c":null }'],
    ['{"c":null,"a":null}', '{"x":null}', "{,}"],
  );
  await assertTakes(
    { ...object, required: ["ab"] },
    ['{"ab":null}', '{"a":null,"ab":null}', '{"a":null,"ab":null,"c":null}', '{"ab":null,"c":null}'],
    ["{}", '{"a":null}', '{"c":null}'],
  );
  await assertTakes(
    { ...object, required: ["a"], additionalProperties: { type: "boolean" } },
    ['{"a":null,"x":true}', '{"a":null,"abc":true,"":false}', '{"a":null,"ab":null}'],
    ['{"a":null,"a":true}', '{"a":null,"ab":true}', '{"a":null,"x":null}', '{"a":null,"\\u0061":true}'],
  );
  await assertTakes({ type: "object" }, ["{}", '{"a": [1, {"b": null}]}'], ["[]", '{"a"}']);
});

test("lists have the items of their schema, as many as it says", async () => {
  const items = { type: "boolean" };
  await assertTakes(
    { type: "array", items },
    ["[]", "[true]", "[ true , false ]"],
    ["[1]", "[true,]", "[,true]"],
  );
  await assertTakes(
    { type: "array", items, minItems: 2, maxItems: 3 },
    ["[true,true]", "[true,true,true]"],
    ["[true]", "[true,true,true,true]"],
  );
  await assertTakes({ type: "array", items, maxItems: 0 }, ["[]"], ["[true]"]);
  const prefixItems = [{ const: 1 }, { const: 2 }];
  await assertTakes({ type: "array", prefixItems }, ["[]", "[1]", "[1,2]"], ["[2]", "[1,2,true]"]);
  await assertTakes(
    { type: "array", prefixItems, items, minItems: 3 },
    ["[1,2,true]", "[1,2,true,false]"],
    ["[1,2]", "[1,2,3]"],
  );
  // Draft 7's names for the same, as zod and the AI SDK write a tuple.
  const tuple = { type: "array", items: prefixItems, additionalItems: false, minItems: 2 };
  await assertTakes(tuple, ["[1,2]"], ["[1]", "[1,2,true]"]);
  await assertTakes({ ...tuple, additionalItems: items, minItems: 3 }, ["[1,2,true]"], ["[1,2]", "[1,2,3]"]);
  await assertTakes({ type: "array" }, ["[]", '[1,"a",[{}]]'], ["[1"]);
  await assertTakes({ type: ["array", "null"], items }, ["[true]", "null"], ["true"]);
});

test("references are followed, in circles too", async () => {
  const list = { type: "object", properties: { next: { $ref: "#" }, "a/b": { $ref: "#/$defs/x%25~1y" } } };
  await assertTakes(
    { ...list, $defs: { "x%/y": { const: 1 } } },
    ['{"next":{"next":{"a/b":1}}}'],
    ['{"next":1}', '{"a/b":2}'],
  );
});

test("branches of oneOf that exclude each other are held to", async () => {
  const branch = (kind: string): object => ({
    type: "object",
    properties: { kind: { const: kind } },
    required: ["kind"],
  });
  await assertTakes(
    { oneOf: [branch("a"), branch("b"), { type: "null" }] },
    ['{"kind":"a"}', "null"],
    ['{"kind":"c"}'],
  );
  await assertTakes({ allOf: [{ enum: [1, "x"] }] }, ["1", '"x"'], ["2"]);
});

test("annotations say nothing of the text", async () => {
  const says = {
    $schema: "x",
    $id: "y",
    title: "t",
    description: "d",
    default: 1,
    examples: [1],
    $comment: "c",
    readOnly: true,
  };
  await assertTakes({ ...says, type: "boolean", deprecated: true }, ["true"], ["1"]);
});

test("strings have the formats that structured outputs name, other formats and those beside a length are free", async () => {
  const format = (name: string, more: object = {}): object => ({ type: "string", format: name, ...more });
  const quoted = (texts: readonly string[]): string[] => texts.map((text) => JSON.stringify(text));
  const cases: Readonly<Record<string, readonly [taken: string[], left: string[]]>> = {
    date: [["2026-01-31"], ["2026-13-01", "2026-00-01", "2026-1-1", "x"]],
    time: [
      ["23:59:59Z", "00:00:00.5+01:00"],
      ["24:00:00Z", "10:00:00"],
    ],
    "date-time": [["2026-01-31T10:00:00Z"], ["2026-01-31", "2026-01-31 10:00:00Z"]],
    duration: [
      ["P1Y2M3D", "PT5M", "P2W", "P1DT12H"],
      ["P", "PT", "5M", "P1DT"],
    ],
    email: [["a.b+c@example.org"], ["a@b", "@example.org", "a b@example.org", ".a@example.org"]],
    hostname: [
      ["example.org", "a-b"],
      ["-a", "a..b", ""],
    ],
    uuid: [["123e4567-e89b-12d3-a456-426614174000"], ["123e4567e89b12d3a456426614174000"]],
  };
  for (const [name, [taken, left]] of Object.entries(cases))
    await assertTakes(format(name), quoted(taken), quoted(left));
  const texts = [
    "127.0.0.1",
    "255.255.255.255",
    "256.0.0.1",
    "01.0.0.1",
    "1.2.3",
    "::",
    "::1",
    "1::",
    "fe80::1:2",
  ];
  const more = [
    "1:2:3:4:5:6:7:8",
    "1:2:3:4:5:6:7::",
    "::2:3:4:5:6:7:8",
    "1:2:3:4:5:6:7",
    "1::2::3",
    "12345::",
  ];
  for (const [name, holds] of [["ipv4", isIPv4] as const, ["ipv6", isIPv6] as const]) {
    const all = [...texts, ...more];
    await assertTakes(format(name), quoted(all.filter(holds)), quoted(all.filter((text) => !holds(text))));
  }
  const urls = ["https://example.org/a?b=%20#c", "mailto:a@example.org", "urn:x:y"];
  assert.ok(urls.every((url) => URL.canParse(url)));
  await assertTakes(format("uri"), quoted(urls), quoted(["example.org", "https://a b", "https:"]));
  await assertTakes(format("password"), quoted(["anything", ""]), []);
  await assertTakes(
    format("uri", { minLength: 1, maxLength: 5 }),
    quoted(["a", "abcde"]),
    quoted(["", "abcdef"]),
  );
  await assertTakes({ type: "integer", format: "int64" }, ["12"], ['"12"']);
});
