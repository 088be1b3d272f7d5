/** A served model as a language model of the AI SDK. */
import { randomUUID } from "node:crypto";
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { SeekError } from "../../../lib/base/errors.ts";
import type { ServedModel } from "../reply/reply.ts";
import { providerName } from "./encoders.ts";
import { ReplyParts } from "./parts.ts";
import { requestOf } from "./request.ts";

type Parts = AsyncGenerator<LanguageModelV4StreamPart, void, undefined>;

/** The model, whose replies are generated and streamed by the same events. */
export function languageModel(model: ServedModel): LanguageModelV4 {
  const never = new AbortController().signal;
  return {
    ...{ specificationVersion: "v4", provider: providerName, modelId: model.id },
    supportedUrls: {},
    doGenerate: (options) => generated(partsOf(model, options, options.abortSignal ?? never)),
    doStream: async (options) => {
      const left = new AbortController();
      const signal = AbortSignal.any([options.abortSignal ?? never, left.signal]);
      const parts = partsOf(model, options, signal);
      // What is refused rejects here, before there is a stream.
      const first = await parts.next();
      return { stream: streamOf(first, parts, left) };
    },
  };
}

async function* partsOf(model: ServedModel, options: LanguageModelV4CallOptions, signal: AbortSignal): Parts {
  const parts = new ReplyParts();
  let isBegun = false;
  for await (const event of model.reply(requestOf(options), signal)) {
    if (!isBegun) {
      isBegun = true;
      yield { type: "stream-start", warnings: [] };
      yield {
        type: "response-metadata",
        id: `reply-${randomUUID()}`,
        timestamp: new Date(),
        modelId: model.id,
      };
    }
    yield* parts.add(event);
  }
}

/** A stream that asks for the next part when there is room for it, and ends the reply when it is left. */
function streamOf(
  first: IteratorResult<LanguageModelV4StreamPart, void>,
  parts: Parts,
  left: AbortController,
): ReadableStream<LanguageModelV4StreamPart> {
  let next: typeof first | undefined = first;
  return new ReadableStream(
    {
      async pull(controller) {
        const { value, done } = next ?? (await parts.next());
        next = undefined;
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel(reason) {
        left.abort(reason);
        await parts.return();
      },
    },
    { highWaterMark: 0 },
  );
}

/** What of a stream's parts is content of a whole reply as it stands. */
const wholeParts: ReadonlySet<string> = new Set(["tool-call", "tool-result", "source"]);

/** A whole reply, from its parts. */
async function generated(parts: Parts): Promise<LanguageModelV4GenerateResult> {
  const content: LanguageModelV4Content[] = [];
  let response: LanguageModelV4GenerateResult["response"];
  let text = "";
  for await (const part of parts) {
    if (part.type === "text-start" || part.type === "reasoning-start") text = "";
    else if (part.type === "text-delta" || part.type === "reasoning-delta") text += part.delta;
    else if (part.type === "reasoning-end") content.push({ type: "reasoning", text });
    else if (part.type === "text-end") {
      content.push({ type: "text", text, ...(part.citations && { citations: part.citations }) });
    } else if (part.type === "response-metadata") {
      const { type: _, ...metadata } = part;
      response = metadata;
    } else if (part.type === "finish") {
      const { type: _, ...end } = part;
      return { content, ...end, response, warnings: [] };
    } else if (wholeParts.has(part.type)) content.push(part as LanguageModelV4Content);
  }
  throw new SeekError("ERR_INTERNAL", "reply: expected its end, got none");
}
