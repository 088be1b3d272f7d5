/** A language model under a name: conversations in its own template, sampled on the engine. */
import { defined } from "../../../lib/base/defined.ts";
import { onFirstUse } from "../../../lib/base/on-first-use.ts";
import type { Constraint } from "../../../lib/engine/constraint/constraint.ts";
import type { Engine } from "../../../lib/engine/engine.ts";
import type { SamplingOptions } from "../../../lib/engine/sampling-options.ts";
import type { Adapter } from "../../../lib/model/adapter.ts";
import type { ChatTemplate } from "../../../lib/text/templates/chat-template.ts";
import type { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import type { Admission } from "../generation/admission.ts";
import { promptText, refusing, replyBeginning } from "../generation/conversation-prompt.ts";
import { farLonger, mayFit } from "../generation/prompt-ids.ts";
import { Sampler, type SamplerParts } from "../generation/sampler.ts";
import { Refusal } from "../http/refusal.ts";
import { ModelStyle } from "../reading/model-style.ts";
import type { AskedPrompt, PromptWriter } from "../reading/written-prompt.ts";
import type {
  Conversation,
  ModelText,
  PromptIdsOptions,
  PromptOptions,
  ReplyEvent,
  ReplyRequest,
  ServedModel,
} from "../reply/reply.ts";
import { plainPiece, ReadChoice } from "./read-choice.ts";

/** What a served model is made of. */
interface LanguageModelParts extends SamplerParts {
  readonly id: string;
  readonly parent?: string | undefined;
  readonly chatTemplate: ChatTemplate | undefined;
  /** How tokens are drawn where a request does not say it. @default the engine's defaults */
  readonly sampling?: SamplingOptions | undefined;
  /** Of the chat template, where a request does not say them. @default none */
  readonly templateVariables?: Readonly<Record<string, unknown>> | undefined;
}

/** A model, or an adapter on it, that replies to conversations and continues texts. */
export class LanguageModel implements ServedModel, ModelText {
  readonly id: string;
  readonly parent: string | undefined;
  readonly tokenizer: Tokenizer;
  readonly engine: Engine;
  readonly admission: Admission;
  readonly sampling: SamplingOptions;
  readonly #parts: LanguageModelParts;
  readonly #templateVariables: Readonly<Record<string, unknown>>;
  readonly #chatTemplate: ChatTemplate | undefined;
  readonly #sampler: Sampler;
  readonly #style: () => KnownStyle;

  constructor(parts: LanguageModelParts) {
    this.#parts = parts;
    this.id = parts.id;
    this.parent = parts.parent;
    this.tokenizer = parts.tokenizer;
    this.engine = parts.engine;
    this.admission = parts.admission;
    this.sampling = parts.sampling ?? {};
    this.#templateVariables = parts.templateVariables ?? {};
    this.#chatTemplate = parts.chatTemplate;
    this.#sampler = new Sampler(parts);
    this.#style = onFirstUse(() => styleOf(this.#template(), parts.tokenizer));
  }

  get contextTokens(): number {
    return this.engine.maxTokens;
  }

  get maxSequences(): number {
    return this.engine.maxBatchSequences;
  }

  get chatTemplate(): string | undefined {
    return this.#chatTemplate?.sourceWithTools;
  }

  get text(): ModelText {
    return this;
  }

  /** The same through an adapter on the engine's model. */
  through(adapter: Adapter): LanguageModel {
    return new LanguageModel({ ...this.#parts, adapter });
  }

  async prompt(conversation: Conversation, options: PromptOptions = {}): Promise<string> {
    return promptText(this.#asked(conversation, options), this.#writer());
  }

  async promptIds(conversation: Conversation, options: PromptIdsOptions = {}): Promise<Int32Array> {
    return (await this.#read(this.#asked(conversation, options), options)).ids;
  }

  #asked(
    { messages, continuesLast, tools, toolChoice, templateVariables }: Conversation,
    { addGenerationPrompt = true }: PromptOptions = {},
  ): AskedPrompt {
    const variables = { ...this.#templateVariables, ...templateVariables };
    return { messages, continuesLast, tools, toolChoice, variables, addGenerationPrompt };
  }

  async #read(asked: AskedPrompt, { beginsText }: PromptIdsOptions = {}): ReturnType<typeof replyBeginning> {
    const { contextTokens } = this;
    const writer = this.#writer();
    checkLength(asked, contextTokens);
    return replyBeginning(asked, writer, { contextTokens, beginsText });
  }

  #writer(): PromptWriter & { readonly tokenizer: Tokenizer } {
    return { template: this.#template(), style: this.#style().style, tokenizer: this.tokenizer };
  }

  async *reply(request: ReplyRequest, signal: AbortSignal): AsyncGenerator<ReplyEvent, void, undefined> {
    await this.admission.turns.begin();
    const { promptIds, constraint, keptIds, readers } =
      request.promptIds === undefined ? await this.#conversation(request) : plainText(request);
    const sampling = { ...this.sampling, ...defined(request.sampling) };
    const sampled = { ...request, promptIds, constraint, keptIds, sampling };
    for await (const event of this.#sampler.sample(sampled, signal)) {
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

  /** What is sampled of a conversation, and who reads it. */
  async #conversation(request: ReplyRequest): Promise<Sampled> {
    const mayCall = request.tools.length > 0 && request.toolChoice !== "none";
    const { parallelToolCalls, constraint } = request;
    const held = mayCall ? { parallelToolCalls, constraint } : undefined;
    const { ids, end, ...begun } = await this.#read({ ...this.#asked(request), held });
    const { style, keptIds } = this.#style();
    const choices = Array.from({ length: request.n });
    return {
      promptIds: ids,
      constraint: mayCall ? begun.constraint : refusing(() => style.constraint(request, end)),
      keptIds,
      readers: choices.map(() => new ReadChoice(style.reader(request, end))),
    };
  }
}

/**
 * Refuses what cannot fit before anything is made of it: of people's texts no template leaves anything out, as some do of a model's
 * reasoning.
 *
 * @throws Refusal for a conversation that is far longer than the context
 */
function checkLength({ messages }: AskedPrompt, contextTokens: number): void {
  const others = messages.filter(({ role }) => role !== "assistant");
  const numChars = others.reduce(
    (sum, { content }) => sum + (typeof content === "string" ? content.length : 0),
    0,
  );
  if (!mayFit(numChars, contextTokens)) throw farLonger(numChars, contextTokens);
  if (messages.length <= contextTokens) return;
  const message = `messages: expected at most ${contextTokens}, which is the context in tokens, got ${messages.length}`;
  throw new Refusal("context_length_exceeded", message);
}

/** What is sampled, and who reads each choice. */
interface Sampled {
  readonly promptIds: Int32Array;
  readonly constraint: Constraint | undefined;
  readonly keptIds: ReadonlySet<number>;
  readonly readers: readonly ReadChoice[];
}

/** A text that is continued: nothing is read in it. */
function plainText({ promptIds = new Int32Array(), constraint }: ReplyRequest): Sampled {
  return { promptIds, constraint, keptIds: new Set(), readers: [] };
}

/** How a model converses, and its tokens that are marks in replies. */
interface KnownStyle {
  readonly style: ModelStyle;
  readonly keptIds: ReadonlySet<number>;
}

function styleOf(chatTemplate: ChatTemplate, tokenizer: Tokenizer): KnownStyle {
  const style = new ModelStyle(chatTemplate);
  const ids = style.marks.map((mark) => tokenizer.idOf(mark));
  return { style, keptIds: new Set(ids.filter((id) => id !== undefined)) };
}
