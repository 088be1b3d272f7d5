/** A template that asks for much work or memory, and how soon it is refused. */
import assert from "node:assert/strict";
import { SeekError } from "../../lib/base/errors.ts";
import { ChatTemplate } from "../../lib/text/templates/chat-template.ts";
import { processorMs } from "../processor-time.ts";

/** A template in which something grows round by round. */
export const grown = (start: string, step: string, rounds: number, end: string): string =>
  `{% set ns = namespace(l=${start}) %}{% for i in range(${rounds}) %}{% set ns.l = ${step} %}{% endfor %}{{ ${end} }}`;

export function requireRefusal(source: string): void {
  const before = process.memoryUsage().rss;
  const render = () => new ChatTemplate(source).render([{ role: "user", content: "Hi" }]);
  const spent = processorMs(() =>
    assert.throws(render, (error) => error instanceof SeekError && error.code === "ERR_FORMAT"),
  );
  // The deadline is 1.5 s, twice where a clock ran while the process did not; collecting garbage has a thread of its own.
  assert.ok(spent < 8000, `${spent} ms`);
  assert.ok(process.memoryUsage().rss - before < 200e6);
}
