/** Chat templates over conversations of ten thousand messages. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SeekError } from "../../lib/base/errors.ts";
import { ChatTemplate } from "../../lib/text/templates/chat-template.ts";
import { readGolden } from "./fixtures.ts";

const golden =
  readGolden<Readonly<Record<"templates" | "variables", Readonly<Record<string, string>>>>>("chat.json");

const isRefused = (error: unknown): boolean => error instanceof SeekError && error.code === "ERR_ARGUMENT";

test("a conversation of ten thousand messages is no endless loop", () => {
  const messages = Array.from({ length: 10_000 }, (_, i) => ({
    role: i % 2 ? "assistant" : "user",
    content: `${i}`,
  }));
  for (const [name, source] of Object.entries(golden.templates)) {
    const render = (): string => new ChatTemplate(source, golden.variables).render(messages);
    try {
      render();
    } catch (error) {
      assert.ok(isRefused(error), `${name}: ${error}`);
    }
  }
});
