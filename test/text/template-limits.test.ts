/** Templates that ask for much work or memory are refused soon; those in use are not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SeekError } from "../../lib/base/errors.ts";
import { ChatTemplate } from "../../lib/text/templates/chat-template.ts";
import { processorMs } from "../processor-time.ts";

const grown = (start: string, step: string, rounds: number, end: string): string =>
  `{% set ns = namespace(l=${start}) %}{% for i in range(${rounds}) %}{% set ns.l = ${step} %}{% endfor %}{{ ${end} }}`;

const hostile: Readonly<Record<string, string>> = {
  "sorting again and again": "{% for i in range(1000) %}{{ range(100000)|sort|first }}{% endfor %}",
  "a list that doubles": grown("[1]", "ns.l + ns.l", 60, "ns.l|length"),
  "a text that doubles": grown("'a'", "ns.l ~ ns.l", 60, "ns.l|length"),
  "lists within lists": grown("[1]", "[ns.l, ns.l]", 60, "ns.l"),
  "lists within lists as JSON": grown("[1]", "[ns.l, ns.l]", 60, "ns.l|tojson"),
  "a replacement that makes a long text": grown("'a'", "ns.l ~ ns.l", 20, "ns.l|replace('a', ns.l)|length"),
  "a joining that makes a long text": grown("'a'", "ns.l ~ ns.l", 12, "range(100000)|join(ns.l)|length"),
  "a wide indentation": "{{ 'a\nb'|indent(1000000000) }}",
  "JSON with a wide indentation": "{{ [1]|tojson(indent=1000000000) }}",
  "loops within loops": "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
  "lists printed often": "{% for i in range(100000) %}{{ range(100000) }}{% endfor %}",
  "a macro that calls itself":
    "{% set ns = namespace() %}{% macro f(g) %}{{ g(g) }}{{ g(g) }}{% endmacro %}{{ f(f) }}",
  "200,000 blanks": `{{ 1 }}${" ".repeat(200_000)}{{ 2 }}`,
  "deep brackets": `{{ ${"[".repeat(50_000)} }}`,
};

for (const [name, source] of Object.entries(hostile)) {
  test(`${name} is refused in time`, () => {
    const before = process.memoryUsage().rss;
    const render = () => new ChatTemplate(source).render([{ role: "user", content: "Hi" }]);
    const spent = processorMs(() =>
      assert.throws(render, (error) => error instanceof SeekError && error.code === "ERR_FORMAT"),
    );
    // The deadline is 1.5 s, twice where a clock ran while the process did not; collecting garbage has a thread of its own.
    assert.ok(spent < 8000, `${spent} ms`);
    assert.ok(process.memoryUsage().rss - before < 200e6);
  });
}

test("a long conversation with long texts renders", () => {
  const template = new ChatTemplate(
    "{% for m in messages %}{{ '<' + m.role + '>' + m.content|trim|replace('x', 'yy') + messages[loop.index0].role }}{% endfor %}",
  );
  const messages = Array.from({ length: 1000 }, () => ({ role: "user", content: "x".repeat(1000) }));
  assert.equal(template.render(messages).length, 1000 * (2 + 4 + 2000 + 4));
});
