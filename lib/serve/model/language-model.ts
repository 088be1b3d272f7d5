/** A language model under a name: conversations in its own template, sampled on the engine. */
import { SeekError } from "../../base/errors.ts";
import type { Engine } from "../../engine/engine.ts";
import type { ChatTemplate, Message, RenderOptions } from "../../text/templates/chat-template.ts";
import type { Tokenizer } from "../../text/tokenizers/tokenizer.ts";
import type { Admission } from "../generation/admission.ts";
import { type SampledPrompt, type SampleEvent, Sampler, type SamplerParts } from "../generation/sampler.ts";
import { Refusal } from "../http/refusal.ts";
import type { ModelText, ReplyEvent, ReplyRequest, ServedModel } from "../reply/reply.ts";

/** What a served model is made of. */
export interface LanguageModelParts extends SamplerParts {
  readonly id: string;
  readonly parent?: string | undefined;
  readonly chatTemplate: ChatTemplate | undefined;
}

/** A model, or an adapter on it, that replies to conversations and continues texts. */
export class LanguageModel implements ServedModel, ModelText {
  readonly id: string;
  readonly parent: string | undefined;
  readonly tokenizer: Tokenizer;
  readonly engine: Engine;
  readonly admission: Admission;
  readonly #chatTemplate: ChatTemplate | undefined;
  readonly #sampler: Sampler;

  constructor(parts: LanguageModelParts) {
    this.id = parts.id;
    this.parent = parts.parent;
    this.tokenizer = parts.tokenizer;
    this.engine = parts.engine;
    this.admission = parts.admission;
    this.#chatTemplate = parts.chatTemplate;
    this.#sampler = new Sampler(parts);
  }

  get contextTokens(): number {
    return this.engine.maxTokens;
  }

  get text(): ModelText {
    return this;
  }

  render(messages: readonly Message[], options: RenderOptions): string {
    if (this.#chatTemplate === undefined) {
      const remedy = "ask /v1/completions, or serve a folder that has a chat_template";
      throw new Refusal("invalid_request", `messages: ${this.id} has no chat template; ${remedy}`);
    }
    try {
      return this.#chatTemplate.render(messages, options);
    } catch (error) {
      if (error instanceof SeekError) throw new Refusal("invalid_request", `messages: ${error.message}`);
      throw error;
    }
  }

  promptIds({ messages, tools, toolChoice, templateVariables }: ReplyRequest): Int32Array {
    const shown = toolChoice === "none" ? [] : tools;
    const functions = shown.map(({ strict, ...definition }) => ({ type: "function", function: definition }));
    const prompt = this.render(messages, {
      addGenerationPrompt: true,
      ...(functions.length > 0 ? { tools: functions } : {}),
      ...(templateVariables ? { variables: templateVariables } : {}),
    });
    return this.tokenizer.encode(prompt, { beginsText: true });
  }

  /** Continues a prompt; see {@link Sampler.sample}. */
  sample(asked: SampledPrompt, signal: AbortSignal): AsyncGenerator<SampleEvent, void, undefined> {
    return this.#sampler.sample(asked, signal);
  }

  async *reply(request: ReplyRequest, signal: AbortSignal): AsyncGenerator<ReplyEvent, void, undefined> {
    const promptIds = this.promptIds(request);
    for await (const event of this.sample({ ...request, promptIds, keepsSpecial: false }, signal)) {
      if (event.type === "start") {
        const { choice, numCachedTokens } = event;
        yield { type: "start", choice, numPromptTokens: promptIds.length, numCachedTokens, promptIds };
      } else if (event.type === "text") yield event;
      else {
        const { stop, ...end } = event;
        yield {
          ...end,
          type: "finish",
          reason: stop === "length" ? "length" : "stop",
          numReasoningTokens: 0,
        };
      }
    }
  }
}
