/** `seekrl chat`: a conversation with a model of this machine or behind a server, in the terminal. */
import { z } from "zod";
import { messageOf } from "../../../../lib/base/errors.ts";
import type { GenerateOptions } from "../../../../lib/engine/span.ts";
import { ChatInput } from "../../chat/chat-input.ts";
import type { ChatParts } from "../../chat/chat-parts.ts";
import { ChatSession } from "../../chat/chat-session.ts";
import { historyFile } from "../../chat/line-history.ts";
import { openLocalChat } from "../../chat/open-local.ts";
import { openServerChat } from "../../chat/open-server.ts";
import { runSlash } from "../../chat/slash-commands.ts";
import { type CommandIo, command, UsageError } from "../../command.ts";
import { inGroup } from "../../fields.ts";
import { type AskedRecipe, askedRecipe, recipeAsked } from "../../open/asked-recipe.ts";
import { type PolicyFolders, policyFolders } from "../../open/local-policy.ts";
import { agentOptions, type Environment, noSearch, openEnvironment } from "../../options/agent-options.ts";
import { adapterForm, engineOptions, modelOptions, namedFolders } from "../../options/model-options.ts";
import { askedRecipeOptions } from "../../options/recipe-options.ts";
import { samplingOptions } from "../../options/sampling-options.ts";

const server = z.strictObject({
  address: z.string().describe("The server's base, such as http://127.0.0.1:8080/v1."),
  model: z.string().optional().describe("Its model (the first that it names)."),
  keyEnv: z.string().optional().describe("Environment variable with its key."),
});

const options = z.strictObject({
  ...modelOptions,
  ...engineOptions,
  ...inGroup("Model", {
    model: modelOptions.model.optional(),
    adapter: z
      .array(z.string())
      .default([])
      .describe(`A LoRA adapter that /adapter NAME answers with, ${adapterForm}; the first one is in use.`),
    endpoint: server
      .optional()
      .meta({ head: "address", description: "An OpenAI-compatible server to talk to instead." }),
  }),
  ...agentOptions,
  ...askedRecipeOptions,
  system: z.string().optional().describe("instructions for the model"),
  ...inGroup("Sampling", {
    temperature: z
      .number()
      .min(0)
      .optional()
      .describe("Divides the logits; 0 takes the likeliest token (0.7; of the search agent 0)."),
  }),
  topP: samplingOptions.topP,
  topK: samplingOptions.topK,
  minP: samplingOptions.minP,
  maxTokens: z.int().min(1).default(1024).describe("most tokens of an answer"),
  seed: z.int().min(0).default(0).describe("fixes every sampled token"),
  history: z.boolean().default(true).describe("keeps no typed lines for later chats"),
});

type Options = z.output<typeof options>;

/** The command. */
export const chatCommand = command({
  name: "chat",
  summary: "talks with a model in the terminal; /help shows what can be typed",
  options,
  run: async (given, io) => {
    if ((given.model === undefined) === (given.endpoint === undefined)) {
      throw new UsageError(
        `expected one of --model, --endpoint, got ${given.model === undefined ? "none" : "both"}`,
      );
    }
    const asked = await askedRecipe(given.endpoint === undefined ? placesOf(given) : undefined, given);
    tellAgent(asked, given, io);
    await using environment = await environmentOf(given, asked, io);
    await using parts = await partsOf(given, environment, { asked, io });
    const session = await ChatSession.open(parts, given.system);
    await talk(session, given, io);
    io.result({ messages: session.messages });
  },
});

/** Says what is asked where the search agent answers. */
function tellAgent({ world, told }: AskedRecipe, given: Options, io: CommandIo): void {
  if (world !== undefined) {
    io.log(
      `a model of the built-in world of seed ${world.setting.seed}: each message is a question by itself`,
    );
  } else if (told !== undefined && namesEnvironment(given)) io.log(`/search: ${told}`);
}

/** The model, and the adapter that answers first. */
function placesOf({ model = "", adapter, dtype, weights }: Options): PolicyFolders {
  const [first] = namedFolders(adapter);
  return { model, adapter: first?.folder, dtype, weights };
}

function namesEnvironment({ index, retriever, shards, web, tools }: Options): boolean {
  return [index, retriever, shards, web, tools].some((each) => each !== undefined);
}

/** A chat needs no search. */
async function environmentOf(
  given: Options,
  { choice, world }: AskedRecipe,
  io: CommandIo,
): Promise<Environment | undefined> {
  if (!namesEnvironment(given) && world === undefined) return undefined;
  return openEnvironment({ ...given, recipe: choice }, io, world?.search);
}

/** Of a model that says what it likes. */
const usualTemperature = 0.7;

/** Who is asked, and by whom. */
interface Opening {
  readonly asked: AskedRecipe;
  readonly io: CommandIo;
}

async function partsOf(
  given: Options,
  environment: Environment | undefined,
  { asked, io }: Opening,
): Promise<ChatParts> {
  const { search, tools } = environment ?? noSearch;
  const { temperature = usualTemperature, topP, topK, minP, maxTokens, seed } = given;
  if (given.endpoint !== undefined) {
    const sampling = { temperature, top_p: topP, max_tokens: maxTokens, seed };
    return openServerChat({
      endpoint: given.endpoint,
      sampling,
      search: environment && search,
      signal: io.signal,
    });
  }
  const recipe = asked.world?.recipe ?? recipeAsked(asked, given, { tools });
  const { adapter, ...folders } = await policyFolders(placesOf(given));
  const named = namedFolders(given.adapter);
  const { device, contextTokens, cacheGib } = given;
  return openLocalChat({
    ...{ folders, device, contextTokens, cacheGib, seed, io },
    // An adapter's own folder may stand for its model.
    adapters: named.length === 0 && adapter !== undefined ? namedFolders([adapter]) : named,
    generate: { maxTokens, temperature, topP, topK, minP } satisfies GenerateOptions,
    agent: environment && {
      recipe: { ...recipe, sampling: { temperature: given.temperature ?? 0, topP } },
      search,
      isOnly: asked.world !== undefined,
    },
  });
}

/** Message by message until the input ends. What fails is told, and ends a chat that nobody types. */
async function talk(session: ChatSession, { history }: Options, io: CommandIo): Promise<void> {
  const { stdout, signal } = io;
  const stdin = io.stdin();
  const isTerminal = stdin.isTTY === true && !io.json;
  using input = await ChatInput.open({
    ...{ stdin, stdout, isTerminal, signal, history: history ? historyFile(io.env) : undefined },
    onHistoryFailure: ({ message }) => io.log(`typed lines are not kept: ${message}`),
  });
  if (isTerminal) io.write(`${session.parts.name}; /help shows what can be typed\n`);
  let hasLeft = false;
  const leave = (): void => {
    hasLeft = true;
  };
  for await (const message of input.messages()) {
    const answered = input.interruptible((signal) => take(message, { session, io, signal, leave }));
    await answered.catch((error: unknown) => {
      if (!isTerminal) throw error;
      io.log(messageOf(error));
    });
    if (hasLeft || io.signal.aborted) break;
  }
}

/** Where a message is said. */
interface Saying {
  readonly session: ChatSession;
  readonly io: CommandIo;
  readonly signal: AbortSignal;
  readonly leave: () => void;
}

async function take(message: string, { session, io, signal, leave }: Saying): Promise<void> {
  if (message.startsWith("/")) {
    return runSlash(message, { session, signal, leave, write: (text) => io.write(text) });
  }
  const pieces = session.say(message, signal);
  for (;;) {
    const { value, done } = await pieces.next();
    if (!done) {
      io.write(value);
      continue;
    }
    io.write(value.note === undefined ? "\n" : `\n[${value.note}]\n`);
    return;
  }
}
