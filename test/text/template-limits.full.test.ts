/** Templates that work until their deadline. */
import { test } from "node:test";
import { grown, requireRefusal } from "./refused-template.ts";

const hostile: Readonly<Record<string, string>> = {
  "lists within lists": grown("[1]", "[ns.l, ns.l]", 60, "ns.l"),
  "lists within lists as JSON": grown("[1]", "[ns.l, ns.l]", 60, "ns.l|tojson"),
  "loops within loops": "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
  "lists printed often": "{% for i in range(100000) %}{{ range(100000) }}{% endfor %}",
  "200,000 blanks": `{{ 1 }}${" ".repeat(200_000)}{{ 2 }}`,
};

for (const [name, source] of Object.entries(hostile))
  test(`${name} is refused in time`, () => requireRefusal(source));
