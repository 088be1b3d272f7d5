/** The tool `ask`: an agent answers a question, and says meanwhile what it does. */
import type { McpServer, ServerContext } from "@modelcontextprotocol/server";
import { lazySchema } from "../../../lib/base/on-first-use.ts";
import type { FinishReason, ReplyEvent, ReplyRequest, ServedModel } from "../reply/reply.ts";
import type { McpToolParts } from "./parts.ts";
import { type ToolAnswer, told } from "./told.ts";

const schemas = lazySchema((z) => {
  const source = z.object({ id: z.string(), title: z.string(), url: z.string().optional() });
  return {
    question: z.object({
      question: z.string().trim().min(1).describe("one question, complete in itself"),
      maxSearches: z.int().min(0).optional().describe("most rounds of searching"),
      topK: z.int().min(1).max(50).optional().describe("passages of each query"),
      deadlineMs: z.int().min(1).optional().describe("time for the answer, milliseconds"),
    }),
    answer: z.object({
      answer: z.string().nullable(),
      reason: z
        .enum(["stop", "length", "tool_calls"])
        .describe("length: it ran out of turns, tokens or time"),
      citations: z.array(source.extend({ quote: z.string(), start: z.number(), end: z.number() })),
      searches: z.array(
        z.object({ queries: z.array(z.string()), failed: z.boolean(), passages: z.array(source) }),
      ),
      thoughts: z.string(),
    }),
  };
});

/** Adds the tool that asks the agent. */
export function addAsk(server: McpServer, agent: ServedModel, parts: McpToolParts): void {
  const { question, answer } = schemas();
  server.registerTool(
    "ask",
    {
      description:
        "Answers a question: searches, reads and thinks by itself, and names the passages that the answer stands in.",
      ...{ inputSchema: question, outputSchema: answer, annotations: { readOnlyHint: true } },
    },
    ({ question: asked, ...budget }, context) =>
      told("ask", parts, async () => {
        const progress = new Progress(context);
        const gathered = new GatheredAnswer();
        for await (const event of agent.reply(requestOf(asked, budget), context.mcpReq.signal)) {
          gathered.add(event);
          progress.tell(event);
        }
        return gathered.toAnswer();
      }),
  );
}

function requestOf(question: string, budget: ReplyRequest["budget"]): ReplyRequest {
  return {
    messages: [{ role: "user", content: question }],
    ...{ tools: [], toolChoice: "auto", parallelToolCalls: true, stop: [], sampling: {}, n: 1, budget },
  };
}

/** Tells a client that asked for it how far the agent is. */
class Progress {
  readonly #context: ServerContext;
  #numTold = 0;
  #isAnswering = false;

  constructor(context: ServerContext) {
    this.#context = context;
  }

  tell(event: ReplyEvent): void {
    if (event.type === "search") this.#notify(searchMessage(event));
    if (event.type !== "text" || this.#isAnswering) return;
    this.#isAnswering = true;
    this.#notify("answers");
  }

  #notify(message: string): void {
    const { notify, _meta } = this.#context.mcpReq;
    const progressToken = _meta?.progressToken;
    if (progressToken === undefined) return;
    this.#numTold += 1;
    const params = { progressToken, progress: this.#numTold, message };
    // A client that has gone is noticed by the signal of its request.
    notify({ method: "notifications/progress", params }).catch(() => {});
  }
}

function searchMessage({ queries, passages, hasFailed }: Extract<ReplyEvent, { type: "search" }>): string {
  if (passages === undefined) return `searches: ${queries.join("; ")}`;
  if (hasFailed) return "the search failed";
  const titles = [...new Set(passages.flat().map(({ title, id }) => title || id))];
  return `found: ${titles.join("; ") || "nothing"}`;
}

/** The answer with all that led to it. */
class GatheredAnswer {
  #answer = "";
  #thoughts = "";
  #reason: FinishReason = "stop";
  readonly #citations: object[] = [];
  readonly #searches: object[] = [];

  add(event: ReplyEvent): void {
    if (event.type === "text") this.#answer += event.text;
    if (event.type === "reasoning") this.#thoughts += event.text;
    if (event.type === "finish") this.#reason = event.reason;
    if (event.type === "citation") {
      const { passage, quote, start, end } = event;
      this.#citations.push({ ...sourceOf(passage), quote, start, end });
    }
    if (event.type !== "search" || event.passages === undefined) return;
    const { queries, passages, hasFailed = false } = event;
    this.#searches.push({ queries, failed: hasFailed, passages: passages.flat().map(sourceOf) });
  }

  toAnswer(): ToolAnswer {
    const answer = this.#answer === "" ? null : this.#answer;
    const cited = this.#citations as {
      readonly id: string;
      readonly title: string;
      readonly quote: string;
    }[];
    const lines = cited.map(({ id, title, quote }) => `[${id}] ${title}: "${quote}"`);
    const structured = {
      ...{ answer, reason: this.#reason, citations: this.#citations },
      ...{ searches: this.#searches, thoughts: this.#thoughts },
    };
    return { text: [answer ?? "No answer was found.", ...lines].join("\n"), structured };
  }
}

function sourceOf({
  id,
  title,
  url,
}: {
  readonly id: string;
  readonly title: string;
  readonly url?: string | undefined;
}) {
  return { id, title, ...(url === undefined ? {} : { url }) };
}
