/** Every field that the declarations of official clients name is known here: read, ignored and named, or refused by its name. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { chatRequest } from "../../../apps/serve/api/chat/request.ts";
import { completionRequest } from "../../../apps/serve/api/completions/request.ts";
import { usesOf } from "../../../apps/serve/api/fields/official.ts";
import { messagesBody } from "../../../apps/serve/api/messages/body.ts";
import { createRequest } from "../../../apps/serve/api/responses/request.ts";
import { serveModels } from "../../../apps/serve/model/model-server.ts";
import { projectRoot } from "../../project.ts";
import { post } from "../doubles.ts";
import { replaying, say, whole } from "./doubles.ts";
import { officialFields } from "./official-types.ts";

type Place = (fields: object) => object;

const chatFile = "openai/resources/chat/completions/completions.d.ts";
const responsesFile = "openai/resources/responses/responses.d.ts";
const sharedFile = "openai/resources/shared.d.ts";
const anthropicFile = "@anthropic-ai/sdk/resources/messages/messages.d.ts";
const betaFile = "@anthropic-ai/sdk/resources/beta/messages/messages.d.ts";

const hi = { role: "user", content: "Hi" };
const parameters = { type: "object", properties: {} };

/** A request of chat completions around fields of one of its parts. */
const chat: Place = (fields) => ({ messages: [hi], ...fields });
const chatAnswer: Place = (fields) =>
  chat({ messages: [hi, { role: "assistant", content: "a", ...fields }, hi] });
const chatCall: Place = (fields) => {
  const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" }, ...fields };
  return chatAnswer({ tool_calls: [call] });
};
const chatTool: Place = (fields) =>
  chat({ tools: [{ type: "function", function: { name: "f", parameters }, ...fields }] });
const chatTypes: readonly (readonly [string, string, Place])[] = [
  [chatFile, "ChatCompletionCreateParamsBase", chat],
  [chatFile, "ChatCompletionStreamOptions", (fields) => chat({ stream: true, stream_options: fields })],
  [chatFile, "ChatCompletionMessage", chatAnswer],
  [chatFile, "ChatCompletionAssistantMessageParam", chatAnswer],
  [chatFile, "ParsedChatCompletionMessage", chatAnswer],
  [chatFile, "ChatCompletionMessageFunctionToolCall", chatCall],
  [
    chatFile,
    "ChatCompletionMessageFunctionToolCall.Function",
    (fields) => chatCall({ function: { name: "f", arguments: "{}", ...fields } }),
  ],
  [chatFile, "ChatCompletionFunctionTool", chatTool],
  [sharedFile, "FunctionDefinition", (fields) => chatTool({ function: { name: "f", ...fields } })],
  [
    sharedFile,
    "ResponseFormatJSONSchema.JSONSchema",
    (fields) => {
      const json_schema = { name: "a", schema: { type: "object" }, ...fields };
      return chat({ response_format: { type: "json_schema", json_schema } });
    },
  ],
];

const respond: Place = (fields) => ({ input: "Hi", ...fields });
const item =
  (given: object): Place =>
  (fields) => {
    const call = { type: "function_call", call_id: "c", name: "f", arguments: "{}" };
    return respond({ input: [hi, call, { ...given, ...fields }, hi] });
  };
const answer = { type: "message", role: "assistant", content: [] };
const responsesTypes: readonly (readonly [string, string, Place])[] = [
  [responsesFile, "ResponseCreateParamsBase", respond],
  [responsesFile, "ResponseTextConfig", (fields) => respond({ text: fields })],
  [sharedFile, "Reasoning", (fields) => respond({ reasoning: fields })],
  [
    responsesFile,
    "FunctionTool",
    (fields) => respond({ tools: [{ type: "function", name: "f", parameters, strict: null, ...fields }] }),
  ],
  [responsesFile, "WebSearchTool", (fields) => respond({ tools: [{ type: "web_search", ...fields }] })],
  [
    responsesFile,
    "WebSearchPreviewTool",
    (fields) => respond({ tools: [{ type: "web_search_preview", ...fields }] }),
  ],
  [responsesFile, "EasyInputMessage", item({ role: "user", content: "a" })],
  [responsesFile, "ResponseOutputMessage", item(answer)],
  [
    responsesFile,
    "ResponseFunctionToolCallItem",
    item({ type: "function_call", call_id: "d", name: "f", arguments: "{}" }),
  ],
  [
    responsesFile,
    "ResponseInputItem.FunctionCallOutput",
    item({ type: "function_call_output", call_id: "c", output: "o" }),
  ],
  [responsesFile, "ResponseReasoningItem", item({ type: "reasoning", summary: [] })],
  [
    responsesFile,
    "ResponseFunctionWebSearch",
    item({ type: "web_search_call", action: { type: "search", query: "q" } }),
  ],
];

const message: Place = (fields) => ({ model: "small", max_tokens: 5, messages: [hi], ...fields });
const say1 =
  (given: object): Place =>
  (fields) =>
    message({ messages: [hi, { role: "assistant", content: [{ ...given, ...fields }] }, hi] });
const use = { type: "tool_use", id: "t", name: "f", input: {} };
const messagesTypes = (prefix: string, file: string): readonly (readonly [string, string, Place])[] => [
  [file, "MessageCreateParamsBase", message],
  [
    file,
    `${prefix}Tool`,
    (fields) => message({ tools: [{ name: "f", input_schema: parameters, ...fields }] }),
  ],
  ...["20250305", "20260209", "20260318"].map((version): [string, string, Place] => [
    file,
    `${prefix}WebSearchTool${version}`,
    (fields) => message({ tools: [{ type: `web_search_${version}`, name: "web_search", ...fields }] }),
  ]),
  [file, `${prefix}TextBlockParam`, say1({ type: "text", text: "a" })],
  [file, `${prefix}ThinkingBlockParam`, say1({ type: "thinking", thinking: "a", signature: "" })],
  [file, `${prefix}RedactedThinkingBlockParam`, say1({ type: "redacted_thinking", data: "a" })],
  [file, `${prefix}ToolUseBlockParam`, say1(use)],
  [file, `${prefix}ServerToolUseBlockParam`, say1({ type: "server_tool_use", name: "web_search" })],
  [file, `${prefix}WebSearchToolResultBlockParam`, say1({ type: "web_search_tool_result" })],
  [
    file,
    `${prefix}ToolResultBlockParam`,
    (fields) => {
      const result = { type: "tool_result", tool_use_id: "t", content: "a", ...fields };
      return message({
        messages: [hi, { role: "assistant", content: [use] }, { role: "user", content: [result] }],
      });
    },
  ],
  [
    file,
    `${prefix}Message`,
    (fields) => message({ messages: [hi, { role: "assistant", content: "a", ...fields }, hi] }),
  ],
  [
    file,
    `${prefix}ThinkingConfigEnabled`,
    (fields) => message({ thinking: { type: "enabled", budget_tokens: 5, ...fields } }),
  ],
  [
    file,
    `${prefix}ThinkingConfigAdaptive`,
    (fields) => message({ thinking: { type: "adaptive", ...fields } }),
  ],
  [file, `${prefix}OutputConfig`, (fields) => message({ output_config: fields })],
];

const interfaces = {
  "/v1/chat/completions": chatTypes,
  "/v1/completions": [
    [
      "openai/resources/completions.d.ts",
      "CompletionCreateParamsBase",
      (fields) => ({ prompt: "a", ...fields }),
    ],
  ],
  "/v1/responses": responsesTypes,
  "/v1/messages": [...messagesTypes("", anthropicFile), ...messagesTypes("Beta", betaFile)],
} satisfies Record<string, readonly (readonly [string, string, Place])[]>;

async function served(t: TestContext) {
  const tokenizer = { encode: () => Int32Array.of(1), decode: () => "a", vocabSize: 2 };
  const model = replaying(whole([say("a")]));
  const text = { tokenizer } as unknown as NonNullable<typeof model.text>;
  const server = await serveModels({ models: [model, { ...model, id: "text", text }], port: 0 });
  t.after(() => server.close({ graceMs: 0 }));
  return server;
}

for (const [path, types] of Object.entries(interfaces)) {
  const named = path === "/v1/completions" ? { model: "text" } : {};

  test(`${path}: each optional field of the official types may be null`, async (t) => {
    const server = await served(t);
    for (const [file, type, place] of types) {
      for (const { name, isOptional } of officialFields(file, type)) {
        // Without any input there is nothing to answer.
        if (!isOptional || name === "input") continue;
        const { status, text } = await post(server, path, { ...named, ...place({ [name]: null }) });
        assert.equal(status, 200, `${type}.${name}: ${text}`);
      }
    }
  });

  test(`${path}: each field of the official types is known, and refused by its name if at all`, async (t) => {
    const server = await served(t);
    for (const [file, type, place] of types) {
      for (const { name } of officialFields(file, type)) {
        const { status, text } = await post(server, path, { ...named, ...place({ [name]: "?" }) });
        assert.ok(status === 200 || status === 400 || status === 404, `${type}.${name}: ${text}`);
        assert.doesNotMatch(text, /Extra inputs/, `${type}.${name}`);
        if (status !== 200) assert.match(text, new RegExp(`\\b${name}\\b`), `${type}.${name}`);
      }
    }
  });
}

test("docs/serving-models.md shows what becomes of every field of a request", () => {
  const page = readFileSync(join(projectRoot, "docs/serving-models.md"), "utf8");
  const requests = {
    "/v1/chat/completions": chatRequest(),
    "/v1/completions": completionRequest(),
    "/v1/responses": createRequest(),
    "/v1/messages": messagesBody(),
  };
  for (const [path, request] of Object.entries(requests)) {
    const uses = Object.entries(usesOf(request));
    for (const [use, word] of Object.entries({ read: "read", hint: "ignored", refused: "refused" })) {
      const names = uses.filter(([, each]) => each === use).map(([name]) => `\`${name}\``);
      const row = `| \`${path}\` | ${word} | ${names.sort().join(", ")} |`;
      assert.ok(page.includes(row), `expected the row\n${row}`);
    }
  }
});
