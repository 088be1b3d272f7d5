/** What stands between protocols and models: what is asked of a model, and what it replies. */
import type { Constraint } from "../../../lib/engine/constraint/constraint.ts";
import type { SamplingOptions } from "../../../lib/engine/sampling-options.ts";
import type { Segment } from "../../../lib/rollout/trajectory.ts";
import type { Message } from "../../../lib/text/templates/chat-template.ts";
import type { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import type { SampledToken, TextPiece } from "./tokens.ts";

/** A function that the model may call; the client runs it. */
export interface FunctionDefinition {
  readonly name: string;
  readonly description?: string | undefined;
  /** JSON schema of its arguments, an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Whether arguments are held to the schema, also where the model may choose not to call. @default false */
  readonly strict?: boolean | undefined;
}

/** Whether the model may call: as it likes, not at all, at least once, or this function. */
export type ToolChoice = "auto" | "none" | "required" | { readonly name: string };

/** How much of its time and of its search an agent may use. */
export interface AgentBudget {
  /** Most rounds of searching. */
  readonly maxSearches?: number | undefined;
  /** Passages of a query. */
  readonly topK?: number | undefined;
  /** For the whole reply, milliseconds; what there is by then is the reply. */
  readonly deadlineMs?: number | undefined;
}

/** What is sampled, of whatever prompt. */
export interface SampleRequest {
  /** Most tokens of a choice. @default what the context has room for */
  readonly maxTokens?: number | undefined;
  /** End a choice, and are no part of it. */
  readonly stop: readonly string[];
  readonly sampling: SamplingOptions;
  /** Fixes every draw, whatever else runs. @default another one each time */
  readonly seed?: number | undefined;
  /** Choices. */
  readonly n: number;
  /** Holds the text to a form. */
  readonly constraint?: Constraint | undefined;
  /** Likely tokens that are told in each token's place, 0 to 20. @default none */
  readonly topLogprobs?: number | undefined;
}

/** What a protocol asks for. */
export interface ReplyRequest extends SampleRequest {
  /**
   * The conversation, in the form that chat templates read: `content` is a text, an assistant's `tool_calls` are OpenAI's, with
   * arguments as JSON text, and `reasoning_content` holds its thoughts.
   */
  readonly messages: readonly Message[];
  /** Whether the reply goes on with the last message, the assistant's, in place of a turn of its own. @default false */
  readonly continuesLast?: boolean | undefined;
  /** Continues these ids, i32 [T], in place of a conversation; nothing is read as reasoning or as a call then. */
  readonly promptIds?: Int32Array | undefined;
  /** Whether a continued prompt is told too, with its log-probabilities where `topLogprobs` asks for them. @default false */
  readonly echo?: boolean | undefined;
  readonly tools: readonly FunctionDefinition[];
  readonly toolChoice: ToolChoice;
  readonly parallelToolCalls: boolean;
  /** Of the chat template, for example `{ enable_thinking: false }`. */
  readonly templateVariables?: Readonly<Record<string, unknown>> | undefined;
  /** Of agents only. */
  readonly budget?: AgentBudget | undefined;
}

/** A passage that an agent found. */
export interface FoundPassage {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly url?: string | undefined;
  readonly score?: number | undefined;
}

/** Why a choice ended. */
export type FinishReason = "stop" | "length" | "tool_calls";

/** What is known of a choice once it has ended. */
export interface ChoiceEnd extends Pick<TextPiece, "tokens"> {
  readonly reason: FinishReason;
  /** The stop string that was met. */
  readonly stopText?: string | undefined;
  /** Sampled tokens, those without text (`tokens`) included. */
  readonly numTokens: number;
  /** Those of them that are thoughts. */
  readonly numReasoningTokens: number;
  /** Tokens that were read in all, where they are more than at the start: agents read what they find. @default those of the start */
  readonly numPromptTokens?: number | undefined;
  /** Of the weights that sampled the first token, those of the adapter included. */
  readonly weightsVersion: number;
  /** `policy` where every token was drawn from the policy itself, at temperature 1: then it can be learnt from. @default "shaped" */
  readonly drawnFrom?: "policy" | "shaped" | undefined;
  /** Of agents: all that was read and sampled, in order. @default the prompt, and what was sampled */
  readonly segments?: readonly Segment[] | undefined;
}

/**
 * A piece of a reply; `choice` counts from 0, and pieces of several choices come mixed.
 *
 * - `start` the prompt is read, or about to be. `promptIds` are the ids that were read; agents, which read more, have none
 * - `reasoning`, `text` thoughts, and what is said
 * - `toolCall` a call begins, and `toolArguments` go on with its arguments, as JSON text
 * - `search` an agent searches (without `passages`), or has found something (with them, one list a query)
 * - `citation` what was said from `start` to `end`, in UTF-16 units of the choice's text, stands in a passage as `quote`
 * - `finish` the choice has ended; `tokens` are those that are no text
 */
export type ReplyEvent = { readonly choice: number } & (
  | {
      readonly type: "start";
      readonly numPromptTokens: number;
      /** Those of them that were not computed again. */
      readonly numCachedTokens: number;
      readonly promptIds?: Int32Array | undefined;
      /** Where `echo` asks for log-probabilities; the first token, which follows nothing, has NaN. */
      readonly promptTokens?: readonly SampledToken[] | undefined;
    }
  | ({ readonly type: "reasoning" | "text" } & TextPiece)
  | { readonly type: "toolCall"; readonly index: number; readonly id: string; readonly name: string }
  | ({ readonly type: "toolArguments"; readonly index: number } & TextPiece)
  | {
      readonly type: "search";
      readonly id: string;
      readonly queries: readonly string[];
      readonly passages?: readonly (readonly FoundPassage[])[] | undefined;
      /** Set where the search, or one of the calls in it, failed. */
      readonly hasFailed?: boolean | undefined;
    }
  | {
      readonly type: "citation";
      readonly passage: FoundPassage;
      readonly quote: string;
      readonly start: number;
      readonly end: number;
    }
  | ({ readonly type: "finish" } & ChoiceEnd)
);

/** What of a request its prompt is made of. */
export type Conversation = Pick<
  ReplyRequest,
  "messages" | "continuesLast" | "tools" | "toolChoice" | "templateVariables"
>;

/** How a conversation is written. */
export interface PromptOptions {
  /** Whether the words follow that begin the model's turn. @default true unless the last message goes on */
  readonly addGenerationPrompt?: boolean | undefined;
}

/** How a conversation is written and encoded. */
export interface PromptIdsOptions extends PromptOptions {
  /** Whether the marks that begin a text stand in front. @default true */
  readonly beginsText?: boolean | undefined;
}

/** How a model reads text, for those who ask for ids and prompts rather than for replies. */
export interface ModelText {
  readonly tokenizer: Tokenizer;
  /** The Jinja source that conversations with tools are written with. @default the model has no chat template */
  readonly chatTemplate?: string | undefined;
  /** Sequences that run at once; more wait for their turn in every step. */
  readonly maxSequences: number;
  /**
   * Writes a conversation as the model reads it.
   *
   * @param conversation - and what else its template reads
   * @throws Refusal when the model's template refuses it
   */
  prompt(conversation: Conversation, options?: PromptOptions): Promise<string>;
  /**
   * The ids that a reply to a conversation begins after. A special token that a user or a tool spells is text in them.
   *
   * @returns i32 [T]
   * @throws Refusal for what cannot be asked of this model
   */
  promptIds(conversation: Conversation, options?: PromptIdsOptions): Promise<Int32Array>;
}

/** What answers under a name: a language model, an adapter on it, an agent. */
export interface ServedModel {
  /** Its name. */
  readonly id: string;
  /** The name of what it is made of, for an adapter or an agent. */
  readonly parent?: string | undefined;
  /** Longest conversation, in tokens. */
  readonly contextTokens: number;
  /** How its tokens are drawn where a request does not say it. @default as the engine draws */
  readonly sampling?: SamplingOptions | undefined;
  /** How it reads text; agents, which read several prompts, have none. */
  readonly text?: ModelText | undefined;
  /**
   * Replies.
   *
   * @param request - what is asked
   * @param signal - ends the work at once
   * @returns the reply as it comes; leaving the loop ends the work too
   * @throws Refusal for what cannot be asked of this model
   */
  reply(request: ReplyRequest, signal: AbortSignal): AsyncGenerator<ReplyEvent, void, undefined>;
}
