/** Conversations with calls become what each chat template expects, and what models write comes back as it was. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ReplyReader } from "../../../apps/serve/reading/reply-reader.ts";
import { messagesFor } from "../../../apps/serve/reading/templates/messages.ts";
import { templateFacts } from "../../../apps/serve/reading/templates/template-facts.ts";
import { ChatTemplate, type Message } from "../../../lib/text/templates/chat-template.ts";
import { sharedData, skipWithoutData } from "../../shared-data.ts";
import { type Part, together } from "./replies.ts";

/** Prints each message, and calls as JSON. */
const turns = "{% for m in messages %}[{{ m.role }}]{{ m.content or '' }}";
const calls = "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}";
const tools = "{{ tools | tojson if tools else '' }}";
const end = "{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}";

const call = (id: string, query: string): object => ({
  id,
  type: "function",
  function: { name: "search", arguments: `{"query": "${query}"}` },
});

const query = { type: "string", description: "What to look for." };
const k = { type: "integer", description: "How many." };
const functions = [
  {
    name: "search",
    description: "Searches.",
    parameters: { type: "object", properties: { query, k }, required: ["query"] },
  },
];

const question: readonly Message[] = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "Hi" },
];
const answered: readonly Message[] = [
  ...question,
  { role: "assistant", content: "I look.", tool_calls: [call("call_1", "a"), call("call_2", "b")] },
  { role: "tool", tool_call_id: "call_1", content: "A" },
  { role: "tool", tool_call_id: "call_2", content: "B" },
];

function render(template: ChatTemplate, messages: readonly Message[], addGenerationPrompt = false): string {
  const conversation = messagesFor(templateFacts(template), messages, functions);
  const { tools: shown } = conversation;
  return template.render(conversation.messages, {
    addGenerationPrompt,
    ...(shown === undefined ? {} : { tools: shown }),
  });
}

test("a template that knows calls has arguments as it prints them once", () => {
  const asObject = new ChatTemplate(`${tools}${turns}${calls}${end}`);
  assert.equal(templateFacts(asObject).arguments, "object");
  assert.ok(render(asObject, answered).includes('{"name": "search", "arguments": {"query": "a"}}'));
  const printed = calls.replace("c.function | tojson", "c.function.name + c.function.arguments");
  const asText = new ChatTemplate(`${tools}${turns}${printed}${end}`);
  assert.equal(templateFacts(asText).arguments, "text");
  assert.ok(render(asText, answered).includes('<tool_call>search{"query": "a"}</tool_call>'));
});

test("a template that takes one call a message gets one, each with its result", () => {
  const refusal =
    "{% if m.tool_calls and m.tool_calls | length > 1 %}{{ raise_exception('one') }}{% endif %}";
  const text = render(new ChatTemplate(`${tools}${turns}${refusal}${calls}${end}`), answered);
  const order = text.match(/\[(assistant|tool)\]|"query": "."|A$|A(?=\[)/g)?.join(" ");
  assert.equal(order, '[assistant] "query": "a" [tool] A [assistant] "query": "b" [tool]');
});

test("a template that shows calls only without content gets the content before them", () => {
  const apart = `{% if m.content is none %}${calls}{% endif %}`;
  const template = new ChatTemplate(`${tools}${turns}${apart}${end}`);
  assert.equal(templateFacts(template).isContentApart, true);
  assert.match(render(template, answered), /\[assistant\]I look\.\[assistant\]<tool_call>/);
});

test("ids become 9 letters where a template asks for them, the same for a call and its result", () => {
  const nine =
    "{% if m.tool_call_id and m.tool_call_id | length != 9 %}{{ raise_exception('9') }}{% endif %}" +
    "{% for c in m.tool_calls or [] %}{% if c.id | length != 9 %}{{ raise_exception('9') }}{% endif %}({{ c.id }}){% endfor %}" +
    "{% if m.tool_call_id %}({{ m.tool_call_id }}){% endif %}";
  const template = new ChatTemplate(`${tools}${turns}${nine}${calls}${end}`);
  assert.equal(templateFacts(template).hasShortIds, true);
  const [first, second, third, fourth] = render(template, answered).match(/\([A-Za-z0-9]{9}\)/g) ?? [];
  assert.deepEqual([third, fourth], [first, second]);
  assert.notEqual(first, second);
});

test("a template that knows nothing of functions is told of them in a system message, with calls and results as text", () => {
  const text = render(new ChatTemplate(`${turns}${end}`), answered);
  assert.match(text, /^\[system\]Be brief\.\n\nYou can call these functions/);
  assert.ok(text.includes('"name":"search"'));
  assert.ok(
    text.includes(
      '[assistant]I look.\n<tool_call>\n{"name": "search", "arguments": {"query": "a"}}\n</tool_call>\n<tool_call>',
    ),
  );
  assert.ok(
    text.endsWith("[user]<tool_response>\nA\n</tool_response>\n\n<tool_response>\nB\n</tool_response>"),
  );
});

test("a template without a system role has its text in the first message of the user", () => {
  const strict = "{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}";
  const text = render(new ChatTemplate(`${turns}${strict}${end}`), question);
  assert.match(text, /^\[user\]Be brief\.\n\nYou can call(?:.|\n)*\n\nHi$/);
});

test("calls that are no calls are refused by their place", () => {
  const facts = templateFacts(new ChatTemplate(turns + end));
  for (const [toolCalls, message] of [
    [{}, /messages\[0\]\.tool_calls: expected a list/],
    [[{ id: "a" }], /tool_calls\[0\]\.function\.name: expected a string/],
    [[{ function: { name: "f", arguments: "[1]" } }], /arguments: expected the JSON text of an object/],
  ] as const) {
    const messages = [{ role: "assistant", content: "", tool_calls: toolCalls }];
    assert.throws(() => messagesFor(facts, messages, []), { code: "ERR_ARGUMENT", message });
  }
});

interface Rendering {
  readonly template: string;
  readonly case: string;
  readonly add_generation_prompt: boolean;
  readonly tools: boolean;
  readonly output?: string;
}

function readShared<T>(name: string): T {
  return JSON.parse(readFileSync(sharedData("chat-templates", name), "utf8")) as T;
}

/** Calls as a client has them: arguments as text, and ids that results refer to. */
function asClientsWrite(messages: readonly Message[]): Message[] {
  let numResults = 0;
  return messages.map(({ tool_calls: made, ...message }) => {
    if (message.role === "tool") return { ...message, tool_call_id: `call_${numResults++}` };
    if (!Array.isArray(made)) return message;
    const list = made.map(({ function: { name, arguments: args } }, i) => {
      const text = JSON.stringify(args, null, 1)
        .replace(/\n\s*/g, " ")
        .replace("{ ", "{")
        .replace(/ }$/, "}");
      return { id: `call_${i}`, type: "function", function: { name, arguments: text } };
    });
    return { ...message, tool_calls: list };
  });
}

test("real templates render a client's calls as Python renders them with arguments as objects", {
  skip: skipWithoutData,
}, () => {
  const templates = readShared<Record<string, string>>("templates.json");
  const expected = readShared<{
    readonly conversations: Record<string, Message[]>;
    readonly vars: Record<string, Record<string, string>>;
    readonly tool: { readonly function: { readonly name: string } };
    readonly results: readonly Rendering[];
  }>("expected.json");
  let numSame = 0;
  for (const { template: name, case: key, tools: hasTools, output, ...rest } of expected.results) {
    if (!hasTools || output === undefined) continue;
    const template = new ChatTemplate(templates[name] as string, expected.vars[name] ?? {});
    const facts = templateFacts(template);
    // A client's calls have ids, which this one prints.
    if (!facts.showsTools || (facts.format.name === "command-r7b" && key === "two_tools")) continue;
    const messages = asClientsWrite(expected.conversations[key] as Message[]);
    const conversation = messagesFor(facts, messages, [expected.tool.function]);
    const options = { addGenerationPrompt: rest.add_generation_prompt, tools: conversation.tools ?? [] };
    assert.equal(template.render(conversation.messages, options), output, `${name}: ${key}`);
    numSame += 1;
  }
  assert.ok(numSame > 150, `${numSame}`);
});

test("what real templates make of calls is read as those calls", { skip: skipWithoutData }, () => {
  const templates = readShared<Record<string, string>>("templates.json");
  const { vars } = readShared<{ readonly vars: Record<string, Record<string, string>> }>("expected.json");
  const args = '{"query": "a \\"b\\" <c>\\n", "k": 3}';
  const made = [{ id: "call_1", type: "function", function: { name: "search", arguments: args } }];
  const unknown: string[] = [];
  for (const [name, source] of Object.entries(templates)) {
    const template = new ChatTemplate(source, vars[name] ?? {});
    const { format } = templateFacts(template);
    const user = { role: "user", content: "Hi" };
    try {
      const [before, whole] = [
        render(template, [user], true),
        render(template, [user, { role: "assistant", content: "", tool_calls: made }]),
      ];
      // Those that open reasoning for a new reply do not show it in old ones.
      const reply = whole.startsWith(before)
        ? whole.slice(before.length)
        : whole.slice(before.indexOf("<think>"));
      const reader = new ReplyReader<number>(format, { functions });
      const parts = together([...reader.push({ text: reply, tokens: [] }), ...reader.end()]);
      const [read] = parts.filter((part): part is Extract<Part, { name: string }> => "name" in part);
      assert.deepEqual([read?.name, JSON.parse(read?.arguments ?? "null")], ["search", JSON.parse(args)]);
    } catch {
      unknown.push(name.replace(/^.*\//, "").replace(/-tool_use|\.jinja/g, ""));
    }
  }
  // Templates that need variables of their own, and one whose format is none that is known.
  assert.deepEqual(unknown, [
    "CohereForAI-c4ai-command-r-plus.jinja".replace(".jinja", ""),
    "fireworks-ai-llama-3-firefunction-v2",
    "meetkai-functionary-medium-v3.2",
  ]);
});
