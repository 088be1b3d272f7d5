/** A language model under a name: conversations in its own template, sampled on the engine. */
import { SeekError } from "../../base/errors.ts";
import { onFirstUse } from "../../base/on-first-use.ts";
import type { Engine } from "../../engine/engine.ts";
import type { ChatTemplate } from "../../text/templates/chat-template.ts";
import type { Tokenizer } from "../../text/tokenizers/tokenizer.ts";
import type { Admission } from "../generation/admission.ts";
import { Sampler, type SamplerParts } from "../generation/sampler.ts";
import { Refusal } from "../http/refusal.ts";
import { marksOf } from "../reading/reply-format.ts";
import { messagesFor } from "../reading/templates/messages.ts";
import { type TemplateFacts, templateFacts } from "../reading/templates/template-facts.ts";
import type {
  Conversation,
  ModelText,
  ReplyEvent,
  ReplyRequest,
  ServedModel,
  ToolDefinition,
} from "../reply/reply.ts";
import { plainPiece, ReadChoice } from "./read-choice.ts";

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
  readonly #reading: () => ModelReading;

  constructor(parts: LanguageModelParts) {
    this.id = parts.id;
    this.parent = parts.parent;
    this.tokenizer = parts.tokenizer;
    this.engine = parts.engine;
    this.admission = parts.admission;
    this.#chatTemplate = parts.chatTemplate;
    this.#sampler = new Sampler(parts);
    this.#reading = onFirstUse(() => readingOf(this.#template(), parts.tokenizer));
  }

  get contextTokens(): number {
    return this.engine.maxTokens;
  }

  get text(): ModelText {
    return this;
  }

  prompt(conversation: Conversation, options: { readonly addGenerationPrompt?: boolean } = {}): string {
    const template = this.#template();
    const { facts } = this.#reading();
    const { templateVariables: variables } = conversation;
    const { addGenerationPrompt = true } = options;
    return asked(() => {
      const { messages, tools } = messagesFor(facts, conversation.messages, functionsOf(conversation));
      return template.render(messages, {
        // Templates that print the day are made for the day on which they are read.
        ...{ addGenerationPrompt, now: new Date() },
        ...(tools ? { tools } : {}),
        ...(variables ? { variables } : {}),
      });
    });
  }

  promptIds(request: ReplyRequest): Int32Array {
    return this.#encode(this.prompt(request));
  }

  async *reply(request: ReplyRequest, signal: AbortSignal): AsyncGenerator<ReplyEvent, void, undefined> {
    const prompt = request.promptIds === undefined ? this.prompt(request) : undefined;
    const promptIds = request.promptIds ?? this.#encode(prompt ?? "");
    const readers = prompt === undefined ? [] : this.#readers(prompt, request);
    const keptIds = prompt === undefined ? noIds : this.#reading().keptIds;
    for await (const event of this.#sampler.sample({ ...request, promptIds, keptIds }, signal)) {
      if (event.type === "start") {
        yield { ...event, numPromptTokens: promptIds.length, promptIds };
      } else yield* readers[event.choice]?.read(event) ?? plainPiece(event);
    }
  }

  /** @throws Refusal when there is none */
  #template(): ChatTemplate {
    if (this.#chatTemplate !== undefined) return this.#chatTemplate;
    const remedy = "ask /v1/completions, or serve a folder that has a chat_template";
    throw new Refusal("invalid_request", `messages: ${this.id} has no chat template; ${remedy}`);
  }

  #readers(prompt: string, request: ReplyRequest): ReadChoice[] {
    const { format } = this.#reading().facts;
    const functions = functionsOf(request);
    return Array.from({ length: request.n }, () => new ReadChoice(format, { functions, prompt }));
  }

  #encode(prompt: string): Int32Array {
    return this.tokenizer.encode(prompt, { beginsText: true });
  }
}

/** What a template refuses of messages is the request's fault. */
function asked<Result>(make: () => Result): Result {
  try {
    return make();
  } catch (error) {
    if (error instanceof SeekError) throw new Refusal("invalid_request", `messages: ${error.message}`);
    throw error;
  }
}

const noIds: ReadonlySet<number> = new Set();

/** How a model writes replies, and its tokens that are marks in them. */
interface ModelReading {
  readonly facts: TemplateFacts;
  readonly keptIds: ReadonlySet<number>;
}

function readingOf(chatTemplate: ChatTemplate, tokenizer: Tokenizer): ModelReading {
  const facts = templateFacts(chatTemplate);
  const ids = marksOf(facts.format).map((mark) => tokenizer.idOf(mark));
  return { facts, keptIds: new Set(ids.filter((id) => id !== undefined)) };
}

/** The functions that the model is told of. */
function functionsOf({ tools, toolChoice }: Conversation): readonly ToolDefinition[] {
  return toolChoice === "none" ? [] : tools;
}
