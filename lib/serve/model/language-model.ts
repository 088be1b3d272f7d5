/** A language model under a name: conversations in its own template, sampled on the engine. */
import { defined } from "../../base/defined.ts";
import { SeekError } from "../../base/errors.ts";
import { onFirstUse } from "../../base/on-first-use.ts";
import type { Constraint } from "../../engine/constraint/constraint.ts";
import type { Engine } from "../../engine/engine.ts";
import type { SamplingOptions } from "../../engine/sampling-options.ts";
import type { Adapter } from "../../model/adapter.ts";
import type { ChatTemplate } from "../../text/templates/chat-template.ts";
import { textOfPrompt } from "../../text/tokenizers/spelt-marks.ts";
import type { Tokenizer } from "../../text/tokenizers/tokenizer.ts";
import type { Admission } from "../generation/admission.ts";
import { farLonger, mayFit, promptIdsOf } from "../generation/prompt-ids.ts";
import { Sampler, type SamplerParts } from "../generation/sampler.ts";
import { Refusal } from "../http/refusal.ts";
import { ModelStyle } from "../reading/model-style.ts";
import { upToMark } from "../reading/templates/continued.ts";
import { withoutOthersMarks } from "../reading/templates/others-marks.ts";
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

  prompt(conversation: Conversation, options: PromptOptions = {}): string {
    return textOfPrompt(this.#rendered(conversation, options));
  }

  async promptIds(conversation: Conversation, options: PromptIdsOptions = {}): Promise<Int32Array> {
    return this.#encoded(this.#rendered(conversation, options), options);
  }

  /** A prompt whose marks are the template's, for {@link idsOfPrompt}. */
  #rendered(conversation: Conversation, { addGenerationPrompt = true }: PromptOptions = {}): string {
    const template = this.#template();
    const { style } = this.#style();
    const { templateVariables, continuesLast: goesOn = false } = conversation;
    const variables = { ...this.#templateVariables, ...templateVariables };
    checkLength(conversation, this.contextTokens);
    const said = withoutOthersMarks(conversation.messages, this.tokenizer);
    const prompt = asked(() => {
      const { messages, tools } = style.conversation({ ...conversation, messages: said });
      return template.render(messages, {
        // Templates that print the day are made for the day on which they are read.
        ...{ addGenerationPrompt: addGenerationPrompt && !goesOn, now: new Date() },
        ...(tools ? { tools } : {}),
        variables,
      });
    });
    return goesOn ? this.#unfinished(prompt) : prompt;
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

  /** @throws Refusal where the template leaves out the text that is to go on */
  #unfinished(marked: string): string {
    const prompt = upToMark(marked);
    if (prompt !== undefined) return prompt;
    const why = `the chat template of ${this.id} does not write the text of the last message`;
    throw new Refusal("invalid_request", `messages: ${why}, so that it cannot go on`);
  }

  /** @throws Refusal when there is none */
  #template(): ChatTemplate {
    if (this.#chatTemplate !== undefined) return this.#chatTemplate;
    const remedy = "ask /v1/completions, or serve a folder that has a chat_template";
    throw new Refusal("invalid_request", `messages: ${this.id} has no chat template; ${remedy}`);
  }

  #encoded(rendered: string, { beginsText }: PromptIdsOptions = {}): Promise<Int32Array> {
    const { tokenizer, contextTokens } = this;
    return promptIdsOf(rendered, { tokenizer, contextTokens, form: { kind: "prompt", beginsText } });
  }

  /** What is sampled of a conversation, and who reads it. */
  async #conversation(request: ReplyRequest): Promise<Sampled> {
    const { style, keptIds } = this.#style();
    const rendered = this.#rendered(request);
    const prompt = textOfPrompt(rendered);
    const choices = Array.from({ length: request.n });
    return {
      promptIds: await this.#encoded(rendered),
      constraint: asked(() => style.constraint(request, prompt)),
      keptIds,
      readers: choices.map(() => new ReadChoice(style.reader(request, prompt))),
    };
  }
}

/**
 * Refuses what cannot fit before anything is made of it: of people's texts no template leaves anything out, as some do of a model's
 * reasoning.
 *
 * @throws Refusal for a conversation that is far longer than the context
 */
function checkLength({ messages }: Conversation, contextTokens: number): void {
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

/** What a template refuses of messages is the request's fault. */
function asked<Result>(make: () => Result): Result {
  try {
    return make();
  } catch (error) {
    if (error instanceof SeekError) throw new Refusal("invalid_request", `messages: ${error.message}`);
    throw error;
  }
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
