/** Sends messages, and takes replies as they are written. */
import { useCallback, useRef, useState } from "preact/hooks";
import { type ChatRequest, chatChunks, isAgent, sendFeedback } from "../../api/chat.ts";
import {
  type Branches,
  type ChatMessage,
  changed,
  pathOf,
  requestMessages,
  turned,
  withMessage,
} from "../../base/chat/branches.ts";
import { afterChunk, emptyReply } from "../../base/chat/reply.ts";
import { type Chat, madeId, type Parameters } from "./store.ts";

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
  /** The conversation that is open; one is begun by the first message. */
  readonly chat: Chat | undefined;
  readonly create: () => Chat;
  readonly change: (chat: string, apply: (old: Branches) => Branches) => void;
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
export function useTalk({ chat, create, change, parameters, model }: TalkOptions) {
  const [writing, setWriting] = useState<string>();
  const stopper = useRef<AbortController | undefined>(undefined);
  const path = chat === undefined ? [] : pathOf(chat.branches);
  const before = ({ id }: ChatMessage): ChatMessage[] => path.slice(0, placeOf(id, path));
  /** Changes one conversation, whichever is open by the time that a reply comes. */
  const changeOf = ({ id }: Chat): Change => change.bind(undefined, id);
  const reply = (after: readonly ChatMessage[], own: Change): void => {
    const id = madeId();
    const parent = after.at(-1)?.id ?? null;
    const stop = new AbortController();
    stopper.current = stop;
    setWriting(id);
    own((old) => withMessage(old, { id, parent, role: "assistant", content: "", reply: emptyReply, model }));
    const request = requestOf(after, parameters, model);
    take(request, id, { change: own, signal: stop.signal }).finally(() => setWriting(undefined));
  };
  const say = (content: string, after: readonly ChatMessage[] = path): void => {
    const own = changeOf(chat ?? create());
    const parent = after.at(-1)?.id ?? null;
    const message: ChatMessage = { id: madeId(), parent, role: "user", content };
    own((old) => withMessage(old, message));
    reply([...after, message], own);
  };
  /** Does something in the conversation that is open. */
  const inside = (act: (own: Change) => void): void => {
    if (chat !== undefined) act(changeOf(chat));
  };
  return {
    writing,
    say: (content: string) => say(content),
    edit: (message: ChatMessage, content: string) => say(content, before(message)),
    again: (message: ChatMessage) => inside((own) => reply(before(message), own)),
    stop: useCallback(() => stopper.current?.abort(), []),
    rate: (message: ChatMessage, rating: "up" | "down") => inside((own) => void rate(message, rating, own)),
    turn: (message: ChatMessage, by: number) => inside((own) => own((old) => turned(old, message, by))),
  };
}

function placeOf(id: string, path: readonly ChatMessage[]): number {
  return path.findIndex((each) => each.id === id);
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
