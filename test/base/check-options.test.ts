/** Options objects checked at run time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkOptions, type OptionKinds, shownValue } from "../../lib/base/check-options.ts";

interface Options {
  readonly maxTokens: number;
  readonly stop?: readonly string[];
  readonly mode?: "single" | "multi";
  readonly onChunk?: () => void;
  readonly signal?: AbortSignal;
  readonly tools?: unknown;
}

const kinds: OptionKinds<Options> = {
  maxTokens: "number",
  stop: "list",
  mode: ["single", "multi"],
  onChunk: "function",
  signal: "signal",
  tools: "any",
};

const refused = (options: unknown, message: RegExp): void =>
  assert.throws(() => checkOptions("generate", options, kinds), { code: "ERR_ARGUMENT", message });

test("options of the right kinds pass, undefined counting as absent", () => {
  const { signal } = new AbortController();
  checkOptions("generate", {}, kinds);
  checkOptions("generate", { maxTokens: Number.NaN, stop: ["a"], mode: "multi", signal, tools: 3 }, kinds);
  checkOptions("generate", { maxTokens: 1, stop: undefined, onChunk: () => {} }, kinds);
});

test("an unknown option is refused with the nearest spelling, in the words of the command line", () => {
  refused({ maxtoken: 3 }, /^generate: unknown key "maxtoken"; did you mean "maxTokens"\?$/);
  refused({ zzzzzzzzzzzz: 3 }, /^generate: unknown key "zzzzzzzzzzzz"; expected one of maxTokens, stop/);
  refused({ toString: 3 }, /unknown key "toString"/);
});

test("an option of the wrong kind is named with what was expected and what came", () => {
  refused({ maxTokens: "10" }, /^generate: maxTokens: expected a number, got "10"$/);
  refused({ stop: "\n" }, /^generate: stop: expected a list, got "\\n"$/);
  refused({ mode: "both" }, /^generate: mode: expected "single" or "multi", got "both"$/);
  refused({ onChunk: 1 }, /^generate: onChunk: expected a function, got 1$/);
  refused({ signal: null }, /^generate: signal: expected an AbortSignal, got null$/);
  refused({ signal: {} }, /^generate: signal: expected an AbortSignal, got \{\}$/);
});

test("what is no object of options is refused", () => {
  refused("hello", /^generate: expected an object of options, got "hello"$/);
  refused(undefined, /got undefined$/);
  refused([1], /got \[1\]$/);
});

test("values are shown short", () => {
  assert.equal(shownValue("x".repeat(1000)).length, 80);
  assert.equal(shownValue(new Map()), "an object of Map");
  assert.equal(shownValue({ a: 1n }), "an object");
  assert.equal(shownValue(Number.NaN), "NaN");
  assert.equal(shownValue(Object.create(null)), "{}");
});
