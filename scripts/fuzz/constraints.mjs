/** Schemas, expressions and grammars for scripts/fuzz.mjs, and changes of them. */
import { mutateJson, mutateText, nested, pick } from "./mutate.mjs";

const schemas = [
  {
    type: "object",
    properties: { a: { type: "integer", minimum: 0, maximum: 99 }, b: { enum: ["x", 1, null] } },
    required: ["a"],
  },
  {
    type: "array",
    items: { $ref: "#/$defs/n" },
    minItems: 1,
    maxItems: 4,
    $defs: { n: { type: "number", exclusiveMinimum: -2.5, exclusiveMaximum: 1000 } },
  },
  {
    anyOf: [
      { type: "string", pattern: "^[a-c]{2,5}$" },
      { const: { k: [1] } },
      { type: ["boolean", "null"] },
    ],
  },
  { type: "string", minLength: 1, maxLength: 40 },
  {
    $ref: "#/$defs/tree",
    $defs: {
      tree: {
        type: "object",
        properties: { left: { $ref: "#/$defs/tree" }, name: { type: "string", pattern: "a|b+" } },
        required: ["name"],
      },
    },
  },
];
const grammars = [
  { regex: "[0-9]{4}-(0[1-9]|1[0-2])(a|b)*" },
  { regex: "(?:foo|ba[rz])+\\d?\\w{2,3}" },
  { grammar: 'root ::= "yes" | "no, " root' },
  { grammar: 'root ::= item+\nitem ::= [a-z]{1,3} ("," | ";")? # rest\n' },
];

/** A schema, changed once or twice. */
export function changedSchema(roll) {
  let schema = pick(roll, schemas);
  for (let left = 1 + roll(2); left > 0; left -= 1) schema = mutateJson(schema, roll);
  return roll(20) === 0 ? nested(schema, 9001) : schema;
}

/** An expression or a grammar, changed up to three times. */
export function changedGrammar(roll) {
  const [[key, text]] = Object.entries(pick(roll, grammars));
  let changed = text;
  for (let left = 1 + roll(3); left > 0; left -= 1) changed = mutateText(changed, roll);
  return { [key]: changed };
}
