/** Requests in the form in which coding agents send them today, written by hand after what they are seen to send. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { serveModels } from "../../../apps/serve/model/model-server.ts";
import type { ModelText } from "../../../apps/serve/reply/reply.ts";
import { post } from "../doubles.ts";
import { replaying, say, whole } from "./doubles.ts";

const parameters = {
  $schema: "http://json-schema.org/draft-07/schema#",
  type: "object",
  properties: { command: { type: "string" }, url: { type: "string", format: "uri" } },
  required: ["command"],
  additionalProperties: false,
};

async function served(t: TestContext) {
  // A language model, which searches nothing.
  const text = { promptIds: () => Int32Array.of(1, 2) } as unknown as ModelText;
  const model = replaying(whole([say("ok")]), { text });
  const server = await serveModels({ models: [model], anyName: true, port: 0 });
  t.after(() => server.close({ graceMs: 0 }));
  const ask = async (path: string, body: object, init: RequestInit = {}) => {
    const { status, headers, text } = await post(server, path, body, init);
    assert.equal(status, 200, text);
    return { ignored: headers.get("seekrl-ignored")?.split(", ") ?? [], request: model.asked.at(-1) };
  };
  return { ask };
}

const ephemeral = { cache_control: { type: "ephemeral" } };

/** A turn of Claude Code, after its first tool has answered. */
const claudeCode = {
  model: "claude-sonnet-4-5-20250929",
  messages: [
    {
      role: "user",
      content: [
        { type: "text", text: "<system-reminder>\nToday's date is 2026-01-01.\n</system-reminder>" },
        { type: "text", text: "list the files", ...ephemeral },
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "I run ls.", signature: "EqQB" },
        { type: "text", text: "I look." },
        { type: "tool_use", id: "toolu_01", name: "Bash", input: { command: "ls" }, ...ephemeral },
      ],
    },
    {
      role: "user",
      content: [
        { tool_use_id: "toolu_01", type: "tool_result", content: "a.ts", is_error: false, ...ephemeral },
        { type: "text", text: "<system-reminder>be brief</system-reminder>" },
      ],
    },
  ],
  system: [
    { type: "text", text: "x-anthropic-billing-header: cc_version=2.1.0; cc_entrypoint=cli;" },
    { type: "text", text: "You are a coding agent.", cache_control: { type: "ephemeral", ttl: "1h" } },
  ],
  tools: [
    {
      ...{ name: "Bash", description: "Runs a command", input_schema: parameters },
      ...{ eager_input_streaming: true, defer_loading: false, allowed_callers: ["direct"] },
      input_examples: [{ command: "ls" }],
    },
    { name: "ToolSearch", description: "Finds tools", input_schema: parameters, ...ephemeral },
  ],
  tool_choice: { type: "auto" },
  metadata: { user_id: "user_1_account__session_2" },
  max_tokens: 32000,
  thinking: { type: "adaptive" },
  output_config: { effort: "medium" },
  context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
  temperature: 1,
  service_tier: "auto",
  speed: "standard",
  stream: true,
};

test("Claude Code's turns are answered, and what of them says nothing here is named", async (t) => {
  const { ask } = await served(t);
  const headers = {
    "anthropic-version": "2023-06-01",
    "anthropic-beta": "claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27",
    "x-api-key": "none",
  };
  const { ignored, request } = await ask("/v1/messages?beta=true", claudeCode, { headers });
  for (const name of [
    ...["context_management", "metadata", "service_tier", "speed", "tools.eager_input_streaming"],
    ...["tools.input_examples", "messages.content.cache_control", "system.cache_control"],
  ])
    assert.ok(ignored.includes(name), name);
  assert.ok(!ignored.some((name) => ["thinking", "temperature", "tools.name"].includes(name)));
  assert.deepEqual(
    request?.messages.map(({ role }) => role),
    ["system", "user", "assistant", "tool", "user"],
  );
  assert.deepEqual(request?.templateVariables, { enable_thinking: true, reasoning_effort: "medium" });
  const {
    max_tokens: _,
    stream: __,
    temperature: ___,
    metadata: ____,
    service_tier: _____,
    ...count
  } = claudeCode;
  await ask("/v1/messages/count_tokens?beta=true", count, { headers });
});

/** A turn of Codex over HTTP, with its own search offered as it is unless switched off. */
const codex = {
  model: "local",
  instructions: "You are Codex.",
  input: [
    {
      type: "message",
      role: "developer",
      content: [{ type: "input_text", text: "<permissions instructions>" }],
    },
    { type: "message", role: "user", content: [{ type: "input_text", text: "list the files" }] },
    {
      ...{ type: "reasoning", summary: [{ type: "summary_text", text: "I run ls." }], content: null },
      encrypted_content: Buffer.from('{"text":"I run ls."}').toString("base64url"),
    },
    {
      ...{ type: "message", role: "assistant", phase: "commentary" },
      content: [{ type: "output_text", text: "I look." }],
    },
    {
      ...{ type: "function_call", name: "shell", call_id: "call_1" },
      arguments: '{"command":["bash","-lc","ls"]}',
    },
    { type: "function_call_output", call_id: "call_1", output: '{"output":"a.ts\\n","metadata":{}}' },
  ],
  tools: [
    { type: "function", name: "shell", description: "Runs a command", strict: false, parameters },
    { type: "function", name: "update_plan", description: "Plans", strict: false, parameters },
    { type: "web_search", external_web_access: false },
  ],
  tool_choice: "auto",
  parallel_tool_calls: false,
  reasoning: { effort: "medium", summary: "auto" },
  store: false,
  stream: true,
  include: ["reasoning.encrypted_content"],
  service_tier: null,
  prompt_cache_key: "019a-session",
  text: { verbosity: "low" },
  client_metadata: { "x-codex-installation-id": "1" },
};

test("Codex's turns are answered, its search named among what is ignored", async (t) => {
  const { ask } = await served(t);
  const { ignored, request } = await ask("/v1/responses", codex);
  assert.deepEqual(ignored, [
    ...["client_metadata", "input.phase", "text.verbosity", "tools.external_web_access"],
  ]);
  assert.deepEqual(
    request?.tools.map(({ name }) => name),
    ["shell", "update_plan"],
  );
  assert.deepEqual(
    request?.messages.map(({ role }) => role),
    ["system", "user", "assistant", "tool"],
  );
});

const toolCalls = [{ id: "call_1", type: "function", function: { name: "list", arguments: "" }, index: 0 }];
const assistantNulls = {
  refusal: null,
  audio: null,
  function_call: null,
  annotations: null,
  reasoning: null,
};
const usage = { stream: true, stream_options: { include_usage: true } };
const functions = [{ type: "function", function: { name: "list", description: "Lists", parameters } }];

/** Turns of agents that speak chat completions. */
const chatAgents: Readonly<Record<string, object>> = {
  Cline: {
    ...{ model: "local", temperature: 0, max_tokens: 8192, reasoning_effort: "medium", ...usage },
    messages: [
      { role: "system", content: "You are Cline." },
      { role: "user", content: [{ type: "text", text: "list the files", ...ephemeral }] },
      { role: "assistant", content: "I look.", tool_calls: toolCalls },
      { role: "tool", tool_call_id: "call_1", content: "a.ts" },
    ],
    ...{ tools: functions, tool_choice: "auto", parallel_tool_calls: false },
  },
  opencode: {
    ...{ model: "local", max_tokens: 32000, top_p: 1, ...usage, tools: functions, tool_choice: "auto" },
    messages: [
      { role: "system", content: "You are opencode." },
      { role: "user", content: "list the files" },
      { role: "assistant", content: "", reasoning_content: "I run ls.", tool_calls: toolCalls },
      { role: "tool", tool_call_id: "call_1", content: "a.ts" },
      { role: "user", content: [{ type: "text", text: "and now?" }] },
    ],
    ...{ user: "me", verbosity: "low", store: false, prompt_cache_key: "session", service_tier: "auto" },
  },
  aider: {
    ...{ model: "local", temperature: 0, stream: true, user: null, seed: null, logit_bias: null, n: null },
    messages: [
      { role: "system", content: "Act as an expert software developer." },
      { role: "user", content: "list the files" },
      { role: "assistant", content: null, ...assistantNulls, tool_calls: toolCalls },
      { role: "tool", tool_call_id: "call_1", name: "list", content: "a.ts" },
    ],
    ...{
      tools: functions,
      response_format: null,
      functions: null,
      function_call: null,
      modalities: ["text"],
    },
  },
};

for (const [name, body] of Object.entries(chatAgents))
  test(`${name}'s turns are answered`, async (t) => {
    const { ask } = await served(t);
    const { request } = await ask("/v1/chat/completions", body);
    const answer = request?.messages.find(({ role }) => role === "assistant");
    const [call] = (answer?.tool_calls ?? []) as { function: { arguments: string } }[];
    assert.equal(call?.function.arguments, "{}");
  });

test("a hint is told once, however often it is given, and nothing is told where there is none", async (t) => {
  const { ask } = await served(t);
  const said = (seekrl: object) => ({ role: "assistant", content: "a", seekrl });
  const hi = { role: "user", content: "Hi" };
  const body = { messages: [hi, said({}), hi, said({ searches: [] }), hi], user: "me" };
  assert.deepEqual((await ask("/v1/chat/completions", body)).ignored, ["messages.seekrl", "user"]);
  assert.deepEqual((await ask("/v1/chat/completions", { messages: [hi], user: null })).ignored, []);
});
