/** Templates that ask for much work or memory are refused soon; those in use are not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ChatTemplate } from "../../lib/text/templates/chat-template.ts";
import { grown, requireRefusal } from "./refused-template.ts";

const hostile: Readonly<Record<string, string>> = {
  "sorting again and again": "{% for i in range(1000) %}{{ range(100000)|sort|first }}{% endfor %}",
  "a list that doubles": grown("[1]", "ns.l + ns.l", 60, "ns.l|length"),
  "a text that doubles": grown("'a'", "ns.l ~ ns.l", 60, "ns.l|length"),
  "a replacement that makes a long text": grown("'a'", "ns.l ~ ns.l", 20, "ns.l|replace('a', ns.l)|length"),
  "a joining that makes a long text": grown("'a'", "ns.l ~ ns.l", 12, "range(100000)|join(ns.l)|length"),
  "a wide indentation": "{{ 'a\nb'|indent(1000000000) }}",
  "JSON with a wide indentation": "{{ [1]|tojson(indent=1000000000) }}",
  "a macro that calls itself":
    "{% set ns = namespace() %}{% macro f(g) %}{{ g(g) }}{{ g(g) }}{% endmacro %}{{ f(f) }}",
  "deep brackets": `{{ ${"[".repeat(50_000)} }}`,
};

for (const [name, source] of Object.entries(hostile))
  test(`${name} is refused in time`, () => requireRefusal(source));

test("a long conversation with long texts renders", () => {
  const template = new ChatTemplate(
    "{% for m in messages %}{{ '<' + m.role + '>' + m.content|trim|replace('x', 'yy') + messages[loop.index0].role }}{% endfor %}",
  );
  const messages = Array.from({ length: 1000 }, () => ({ role: "user", content: "x".repeat(1000) }));
  assert.equal(template.render(messages).length, 1000 * (2 + 4 + 2000 + 4));
});
