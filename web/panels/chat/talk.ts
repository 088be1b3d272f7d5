/** Sends messages, and takes replies as they are written. */
import { useCallback, useRef, useState } from "preact/hooks";
import { type ChatRequest, chatChunks, isAgent, sendFeedback } from "../../api/chat.ts";
import {
  type Branches,
  type ChatMessage,
  changed,
  pathOf,
  requestMessages,
  withMessage,
} from "../../base/chat/branches.ts";
import { afterChunk, emptyReply } from "../../base/chat/reply.ts";
import type { Parameters } from "./store.ts";

type Change = (apply: (old: Branches) => Branches) => void;

const numberOf = (text: string): number | undefined => (text.trim() === "" ? undefined : Number(text));

/** What was given, without the empty fields. */
function givenOf<Fields extends object>(fields: Fields): Partial<Fields> {
  const kept = Object.entries(fields).filter(([, value]) => value !== undefined && !Number.isNaN(value));
  return Object.fromEntries(kept) as Partial<Fields>;
}

function budgetOf({ maxSearches, topK, deadline }: Parameters): Pick<ChatRequest, "agent"> {
  const seconds = numberOf(deadline);
  const agent = givenOf({
    max_searches: numberOf(maxSearches),
    top_k: numberOf(topK),
    deadline_ms: seconds === undefined ? undefined : Math.round(1000 * seconds),
  });
  return Object.keys(agent).length === 0 ? {} : { agent: agent as ChatRequest["agent"] & object };
}

function requestOf(path: readonly ChatMessage[], parameters: Parameters, model: string): ChatRequest {
  const given = givenOf({
    temperature: numberOf(parameters.temperature),
    top_p: numberOf(parameters.topP),
    max_tokens: numberOf(parameters.maxTokens),
    seed: numberOf(parameters.seed),
  }) as Partial<ChatRequest>;
  const messages = requestMessages(path, parameters.system);
  return { model, messages, ...given, ...(isAgent(model) ? budgetOf(parameters) : {}) };
}

/** What is needed to talk. */
interface TalkOptions {
  readonly branches: Branches;
  readonly change: Change;
  readonly parameters: Parameters;
  readonly model: string;
}

/** Takes the chunks of a reply into a message. */
async function take(
  request: ChatRequest,
  id: string,
  { change, signal }: { change: Change; signal: AbortSignal },
): Promise<void> {
  try {
    for await (const chunk of chatChunks(request, signal))
      change((old) =>
        changed(old, id, (each) => ({ ...each, reply: afterChunk(each.reply ?? emptyReply, chunk) })),
      );
  } catch (error) {
    const failure = signal.aborted ? "stopped" : (error as Error).message;
    change((old) => changed(old, id, (each) => ({ ...each, failure })));
  }
}

/** Everything that can be done in a conversation. */
export function useTalk({ branches, change, parameters, model }: TalkOptions) {
  const [writing, setWriting] = useState<string>();
  const stopper = useRef<AbortController | undefined>(undefined);
  const reply = (path: readonly ChatMessage[]): void => {
    const id = crypto.randomUUID();
    const parent = path.at(-1)?.id ?? null;
    const stop = new AbortController();
    stopper.current = stop;
    setWriting(id);
    change((old) =>
      withMessage(old, { id, parent, role: "assistant", content: "", reply: emptyReply, model }),
    );
    take(requestOf(path, parameters, model), id, { change, signal: stop.signal }).finally(() =>
      setWriting(undefined),
    );
  };
  const say = (content: string, after: readonly ChatMessage[] = pathOf(branches)): void => {
    const parent = after.at(-1)?.id ?? null;
    const message: ChatMessage = { id: crypto.randomUUID(), parent, role: "user", content };
    change((old) => withMessage(old, message));
    reply([...after, message]);
  };
  /** The messages before one. */
  const before = ({ id }: ChatMessage): ChatMessage[] => {
    const path = pathOf(branches);
    return path.slice(
      0,
      path.findIndex((each) => each.id === id),
    );
  };
  return {
    writing,
    say,
    edit: (message: ChatMessage, content: string) => say(content, before(message)),
    again: (message: ChatMessage) => reply(before(message)),
    stop: useCallback(() => stopper.current?.abort(), []),
    rate: (message: ChatMessage, rating: "up" | "down") => rate(message, rating, change),
  };
}

/** Shows the rating once the server has it. */
async function rate({ id, reply }: ChatMessage, rating: "up" | "down", change: Change): Promise<void> {
  if (reply?.id === undefined) return;
  const told = await sendFeedback(reply.id, rating === "up" ? 1 : 0).then(
    () => ({ rating }),
    ({ message }: Error) => ({ failure: `feedback: ${message}` }),
  );
  change((old) => changed(old, id, (each) => ({ ...each, ...told })));
}
