/** Conversations that this browser keeps. */
import { useCallback, useEffect, useState } from "preact/hooks";
import { type Branches, noMessages, pathOf } from "../../base/chat/branches.ts";

/** A conversation. */
export interface Chat {
  readonly id: string;
  readonly at: number;
  readonly branches: Branches;
}

/** What is asked for besides the messages; an empty text is left to the server. */
export interface Parameters {
  readonly model: string;
  readonly system: string;
  readonly temperature: string;
  readonly topP: string;
  readonly maxTokens: string;
  readonly seed: string;
  /** Of agents: rounds of searching, passages a query, seconds for the whole reply. */
  readonly maxSearches: string;
  readonly topK: string;
  readonly deadline: string;
}

const chatsName = "seekrl.chats";
const parametersName = "seekrl.parameters";
const maxChats = 40;

function read<Value>(name: string, otherwise: Value): Value {
  try {
    return (JSON.parse(localStorage.getItem(name) ?? "null") as Value | null) ?? otherwise;
  } catch {
    return otherwise;
  }
}

/** The first words of a conversation. */
export const titleOf = ({ branches }: Chat): string =>
  pathOf(branches)[0]?.content.slice(0, 60) || "New chat";

/** A name that no other message or conversation has; `randomUUID` is kept from pages that came over plain HTTP. */
export const madeId = (): string =>
  [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join("-");

const made = (): Chat => ({ id: madeId(), at: Date.now(), branches: noMessages });

/** All conversations, which one is open, and what can be done with them. */
export function useChats() {
  const [chats, setChats] = useState<readonly Chat[]>(() => read(chatsName, []));
  const [openId, open] = useState(() => chats[0]?.id ?? "");
  useEffect(() => {
    const keep = (): void => {
      const kept = chats.filter(({ branches }) => branches.messages.length > 0).slice(0, maxChats);
      localStorage.setItem(chatsName, JSON.stringify(kept));
    };
    // Many small pieces arrive while a reply is written; a page that is left does not wait.
    const timer = setTimeout(keep, 300);
    addEventListener("pagehide", keep);
    return () => {
      clearTimeout(timer);
      removeEventListener("pagehide", keep);
    };
  }, [chats]);
  const create = useCallback((): Chat => {
    const chat = made();
    setChats((old) => [chat, ...old.filter(({ branches }) => branches.messages.length > 0)]);
    open(chat.id);
    return chat;
  }, []);
  const change = useCallback((id: string, apply: (old: Branches) => Branches) => {
    setChats((old) =>
      old.map((each) => (each.id === id ? { ...each, branches: apply(each.branches) } : each)),
    );
  }, []);
  const remove = useCallback((id: string) => setChats((old) => old.filter((each) => each.id !== id)), []);
  return { chats, chat: chats.find(({ id }) => id === openId), open, create, change, remove };
}

const usual: Parameters = {
  ...{ model: "", system: "", temperature: "", topP: "", maxTokens: "", seed: "" },
  ...{ maxSearches: "", topK: "", deadline: "" },
};

/** The parameters, kept for the next conversation. */
export function useParameters(): [Parameters, (changes: Partial<Parameters>) => void] {
  const [parameters, setParameters] = useState<Parameters>(() => ({
    ...usual,
    ...read(parametersName, usual),
  }));
  const change = useCallback((changes: Partial<Parameters>) => {
    setParameters((old) => {
      const next = { ...old, ...changes };
      localStorage.setItem(parametersName, JSON.stringify(next));
      return next;
    });
  }, []);
  return [parameters, change];
}
