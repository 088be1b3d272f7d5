/** A reply as parts of the AI SDK's streams. */
import type {
  JSONValue,
  LanguageModelV4Citation,
  LanguageModelV4Source,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";
import { Usage } from "../api/fields/usage.ts";
import type { FoundPassage, ReplyEvent } from "../reply/reply.ts";

type Told<Type> = Extract<ReplyEvent, { readonly type: Type }>;
type Part = LanguageModelV4StreamPart;

/** The name of an agent's searches among tools. */
const searchTool = "search";

/** A call whose arguments come. */
interface OpenCall {
  readonly index: number;
  readonly id: string;
  readonly name: string;
  input: string;
}

/** Turns events into parts; texts, thoughts and calls are begun and ended. */
export class ReplyParts {
  #open: { readonly type: "text" | "reasoning"; readonly id: string } | undefined;
  #call: OpenCall | undefined;
  #numBlocks = 0;
  readonly #sources = new Map<string, LanguageModelV4Source>();
  #citations: LanguageModelV4Citation[] = [];
  readonly #usage = new Usage();

  /** The parts of the next event. */
  *add(event: ReplyEvent): Generator<Part, void, undefined> {
    this.#usage.add(event);
    switch (event.type) {
      case "start":
        return;
      case "text":
      case "reasoning":
        if (event.text !== "") yield* this.#write(event.type, event.text);
        return;
      case "toolCall":
        yield* this.#end();
        this.#call = { index: event.index, id: event.id, name: event.name, input: "" };
        yield { type: "tool-input-start", id: event.id, toolName: event.name };
        return;
      case "toolArguments":
        yield* this.#argue(event);
        return;
      case "search":
        yield* this.#end();
        yield* searchParts(event);
        return;
      case "citation":
        yield* this.#cite(event);
        return;
      case "finish":
        yield* this.#end();
        yield this.#finished(event);
    }
  }

  *#write(type: "text" | "reasoning", delta: string): Generator<Part, void, undefined> {
    if (this.#open?.type !== type) {
      yield* this.#end();
      this.#open = { type, id: String(this.#numBlocks++) };
      yield { type: `${type}-start`, id: this.#open.id };
    }
    yield { type: `${type}-delta`, id: this.#open.id, delta };
  }

  *#argue({ text }: Told<"toolArguments">): Generator<Part, void, undefined> {
    if (this.#call === undefined || text === "") return;
    this.#call.input += text;
    yield { type: "tool-input-delta", id: this.#call.id, delta: text };
  }

  *#cite({ passage, quote, start, end }: Told<"citation">): Generator<Part, void, undefined> {
    const known = this.#sources.get(passage.id);
    const source = known ?? sourceOf(passage);
    this.#sources.set(passage.id, source);
    this.#citations.push({ source, startIndex: start, endIndex: end, citedText: quote });
    if (known === undefined) yield source;
  }

  /** Ends what is open. */
  *#end(): Generator<Part, void, undefined> {
    if (this.#open?.type === "reasoning") yield { type: "reasoning-end", id: this.#open.id };
    if (this.#open?.type === "text") {
      const citations = this.#citations.splice(0);
      yield { type: "text-end", id: this.#open.id, ...(citations.length > 0 ? { citations } : {}) };
    }
    this.#open = undefined;
    if (this.#call === undefined) return;
    const { id, name, input } = this.#call;
    this.#call = undefined;
    yield { type: "tool-input-end", id };
    yield { type: "tool-call", toolCallId: id, toolName: name, input };
  }

  #finished(event: Told<"finish">): Part {
    const unified = event.reason === "tool_calls" ? "tool-calls" : event.reason;
    return {
      type: "finish",
      finishReason: { unified, raw: event.reason },
      usage: usageOf(this.#usage),
      providerMetadata: { seekrl: { weightsVersion: event.weightsVersion } },
    };
  }
}

function usageOf({ numPrompt, numCached, numSampled, numReasoning }: Usage): LanguageModelV4Usage {
  return {
    inputTokens: {
      ...{ total: numPrompt, noCache: numPrompt - numCached, cacheRead: numCached, cacheWrite: undefined },
    },
    outputTokens: { total: numSampled, text: numSampled - numReasoning, reasoning: numReasoning },
  };
}

function sourceOf({ id, title, url }: FoundPassage): LanguageModelV4Source {
  if (url !== undefined) return { type: "source", sourceType: "url", id, url, title };
  return { type: "source", sourceType: "document", id, mediaType: "text/plain", title: title || id };
}

/** A search is a call that the agent runs by itself: first its queries, then what each of them found. */
function* searchParts({
  id,
  queries,
  passages,
  hasFailed,
}: Told<"search">): Generator<Part, void, undefined> {
  const call = { toolCallId: id, toolName: searchTool, dynamic: true } as const;
  if (passages === undefined) {
    yield { type: "tool-call", ...call, input: JSON.stringify({ queries }), providerExecuted: true };
    return;
  }
  const found = passages.map((list) => list.map(({ score: _, ...passage }) => passage));
  const result = JSON.parse(JSON.stringify({ passages: found })) as NonNullable<JSONValue>;
  yield { type: "tool-result", ...call, result, ...(hasFailed ? { isError: true } : {}) };
}
