/** Commands within a chat: lines that begin with a slash. */
import { appendFile } from "node:fs/promises";
import { SeekError } from "../../../lib/base/errors.ts";
import { nearestWord } from "../../../lib/base/spelling.ts";
import { UsageError } from "../command.ts";
import type { ChatSession } from "./chat-session.ts";

/** Passages that `/search QUERY` shows. */
const numHits = 3;

/** Where a command stands. */
interface SlashContext {
  readonly session: ChatSession;
  readonly write: (text: string) => void;
  readonly signal: AbortSignal;
  /** Ends the chat. */
  readonly leave: () => void;
}

/** A command of the chat. */
interface SlashCommand {
  /** What stands behind its name. */
  readonly takes: string;
  readonly help: string;
  readonly run: (rest: string, context: SlashContext) => Promise<void>;
}

/** The commands by name. */
const slashCommands: Readonly<Record<string, SlashCommand>> = {
  search: {
    takes: "[QUERY]",
    help: "finds passages; alone: the search agent on or off",
    run: (query, context) => (query === "" ? toggleAgent(context) : showHits(query, context)),
  },
  adapter: {
    takes: "[NAME]",
    help: "another adapter (or model of a server), none; alone: lists",
    run: chooseAdapter,
  },
  system: {
    takes: "[TEXT]",
    help: "instructions from here on, none; alone: shows them",
    run: instruct,
  },
  clear: {
    takes: "",
    help: "forgets what was said",
    run: async (_, { session, write }) => {
      session.clear();
      write("forgotten\n");
    },
  },
  save: { takes: "FILE", help: 'adds a line {"messages": [...]} to a file', run: save },
  help: {
    takes: "",
    help: "shows these commands",
    run: async (_, { write }) => write(slashHelp()),
  },
  exit: { takes: "", help: "ends the chat, as /quit does", run: async (_, { leave }) => leave() },
};

/** The commands as text. */
function slashHelp(): string {
  const rows = Object.entries(slashCommands).map(([name, { takes, help }]) => {
    return `  ${`/${name} ${takes}`.padEnd(16)}${help}\n`;
  });
  return `${rows.join("")}  A line that ends with \\ goes on in the next. Ctrl-C stops an answer, twice ends.\n`;
}

/**
 * Runs a line that begins with a slash.
 *
 * @throws UsageError for an unknown command, with the nearest name
 */
export async function runSlash(line: string, context: SlashContext): Promise<void> {
  const [, name = "", rest = ""] = /^\/(\S*)\s*([\s\S]*)$/.exec(line) ?? [];
  const found = slashCommands[name === "quit" ? "exit" : name];
  if (found !== undefined) return found.run(rest.trim(), context);
  const meant = nearestWord(name, Object.keys(slashCommands));
  const hint = meant === undefined ? "/help shows all" : `did you mean /${meant}?`;
  throw new UsageError(`unknown command /${name}; ${hint}`);
}

async function toggleAgent({ session, write }: SlashContext): Promise<void> {
  await session.choose({ isAgent: !session.choice.isAgent });
  write(
    session.choice.isAgent ? "the search agent answers, each question by itself\n" : "the model answers\n",
  );
}

async function showHits(query: string, { session, write, signal }: SlashContext): Promise<void> {
  const { search } = session.parts;
  if (search === undefined)
    throw new UsageError("/search: nothing to search in: --index, --retriever or --web");
  const [hits = []] = await search([query], { topK: numHits, signal });
  for (const { score, title, text } of hits) write(`  ${score.toFixed(3)}  ${title}: ${text}\n`);
  if (hits.length === 0) write("  nothing found\n");
}

async function chooseAdapter(name: string, { session, write }: SlashContext): Promise<void> {
  const { adapters } = session.parts;
  if (name === "") {
    const list = adapters.map((each) => (each === session.choice.adapter ? `${each} (in use)` : each));
    return write(list.length === 0 ? "no adapters: --adapter NAME=DIR\n" : `${list.join(", ")}\n`);
  }
  if (name !== "none" && !adapters.includes(name)) {
    throw new UsageError(`/adapter: expected one of ${[...adapters, "none"].join(", ")}, got ${name}`);
  }
  await session.choose({ adapter: name === "none" ? undefined : name });
  write(`${name === "none" ? "the model alone" : name} answers\n`);
}

async function instruct(text: string, { session, write }: SlashContext): Promise<void> {
  if (text === "") return write(`${session.system ?? "no instructions"}\n`);
  session.instruct(text === "none" ? undefined : text);
}

async function save(path: string, { session, write }: SlashContext): Promise<void> {
  if (path === "") throw new UsageError("/save: expected a file");
  const { messages } = session;
  await appendFile(path, `${JSON.stringify({ messages })}\n`).catch((cause: Error) => {
    throw new SeekError("ERR_IO", `${path}: cannot be written: ${cause.message}`, { cause });
  });
  write(`${messages.length} messages added to ${path}\n`);
}
