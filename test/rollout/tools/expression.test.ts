/** The calculator's arithmetic. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { calculatorTool } from "../../../lib/rollout/tools/built-in/calculator.ts";
import { evaluateExpression, formatValue } from "../../../lib/rollout/tools/built-in/expression.ts";
import { toolBox } from "../../../lib/rollout/tools/tool-box.ts";
import { randomFrom } from "../../dice.ts";

test("expressions have the values that mathematics gives them", () => {
  const cases: readonly (readonly [string, number])[] = [
    ["1 + 2 * 3", 7],
    ["(1 + 2) * 3", 9],
    ["2 ^ 3 ^ 2", 512],
    ["2 ** 3", 8],
    ["-2 ^ 2", -4],
    ["2 ^ -1", 0.5],
    ["7 % 4 - -1", 4],
    ["5! / 3!", 20],
    ["3 × 4 ÷ 6 − 1", 1],
    ["1.5e3 + .5", 1500.5],
    ["round(10 / 3, 2)", 3.33],
    ["max(1, 2, min(9, 8)) + floor(-1.5)", 6],
    ["log(1000) + ln(e) + log2(8)", 7],
    ["sqrt(3 ^ 2 + 4 ^ 2)", 5],
    ["cos(pi)", -1],
  ];
  for (const [text, value] of cases) assert.equal(evaluateExpression(text), value, text);
});

test("random expressions have the values that JavaScript gives them", () => {
  const random = randomFrom(7);
  const make = (depth: number): string => {
    if (depth === 0 || random() < 0.2) return String(Math.floor(random() * 1000) / 10);
    const operator = ["+", "-", "*", "/", "%"][Math.floor(random() * 5)];
    const text = `${make(depth - 1)} ${operator} ${make(depth - 1)}`;
    return random() < 0.4 ? `(${text})` : random() < 0.2 ? `-(${text})` : text;
  };
  for (let i = 0; i < 500; i += 1) {
    const text = make(5);
    const expected = new Function(`return ${text.replaceAll("--", "- -")}`)() as number;
    if (Number.isFinite(expected)) assert.equal(evaluateExpression(text), expected, text);
  }
});

test("what is no arithmetic is refused, and says what was expected", () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ["", /expected a number, got the end/],
    ["2 +", /expected a number, got the end/],
    ["(1", /expected "\)", got the end/],
    ["1 2", /expected an operator, got "2"/],
    ["1 / 0", /not a finite number/],
    ["sqrt(-1)", /not a finite number/],
    ["200!", /factorial of 0 to 170/],
    ["process.exit(1)", /got ".exit\(1\)"/],
    ["process", /expected one of abs, .*, got "process"/],
    ["constructor", /expected one of/],
    ["max", /expected "\(" behind max/],
    ["x = 3", /expected a number, an operator or a function, got "= 3"/],
    ["1,000", /expected an operator, got ","/],
    [`${"(".repeat(60)}1${")".repeat(60)}`, /at most 50 levels/],
    [`${"-".repeat(60)}1`, /at most 50 levels/],
    [`2${"^2".repeat(60)}`, /at most 50 levels/],
    ["1".repeat(1001), /at most 1000 characters, got 1001/],
  ];
  for (const [text, message] of cases) {
    assert.throws(() => evaluateExpression(text), { code: "ERR_ARGUMENT", message }, text);
  }
});

test("values are written without the noise of binary fractions, and large ones as rounded", () => {
  assert.deepEqual([0.1 + 0.2, 1 / 3, 2 ** 53, 123456789 * 987654321, -0].map(formatValue), [
    "0.3",
    "0.333333333333333",
    "9.00719925474099e+15",
    "1.21932631112635e+17",
    "0",
  ]);
});

test("the calculator tells the model why there is no value", async () => {
  const { run } = toolBox([calculatorTool({ name: "Calculator" })]);
  const results = await run(["6 * 7", "6 *"].map((input) => ({ name: "Calculator", input, text: "" })));
  assert.deepEqual(
    results.map(({ text, failure }) => [text, failure?.kind]),
    [
      ["42", undefined],
      ["Error: Calculator: expected a number, got the end", "failed"],
    ],
  );
});
