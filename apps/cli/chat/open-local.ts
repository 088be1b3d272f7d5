/** A chat with a model of this machine: alone, through an adapter, or as a search agent. */
import { SeekError } from "../../../lib/base/errors.ts";
import type { LocalPolicy, PolicyChoice } from "../../../lib/engine/local-policy.ts";
import type { GenerateOptions } from "../../../lib/engine/span.ts";
import type { Adapter } from "../../../lib/model/adapter.ts";
import { agentPartsOf } from "../../../lib/recipes/plan.ts";
import type { Recipe } from "../../../lib/recipes/recipe.ts";
import type { SequenceSource } from "../../../lib/rollout/seams.ts";
import type { Search } from "../../../lib/search/search.ts";
import { type CommandIo, UsageError } from "../command.ts";
import { openLocalPolicy, type PolicyFolders } from "../open/local-policy.ts";
import type { NamedFolder } from "../options/model-options.ts";
import { agentSpeaker } from "./agent-speaker.ts";
import type { ChatParts, SpeakerChoice } from "./chat-parts.ts";
import { ModelSpeaker } from "./model-speaker.ts";
import type { Speaker } from "./speaker.ts";

/** How an agent answers. */
interface ChatAgent {
  readonly recipe: Recipe;
  readonly search: Search;
  /** Whether the model is asked in no other way, as one of the built-in world is. */
  readonly isOnly: boolean;
}

/** What is opened. */
interface LocalChat {
  /** The model's, without an adapter. */
  readonly folders: PolicyFolders;
  readonly device: PolicyChoice["device"];
  readonly contextTokens?: number | undefined;
  readonly cacheGib?: number | undefined;
  readonly adapters: readonly NamedFolder[];
  readonly generate: GenerateOptions;
  readonly seed: number;
  readonly agent: ChatAgent | undefined;
  /** Is told what of the model may not be meant. */
  readonly io: Pick<CommandIo, "log">;
}

/**
 * Opens it. The first adapter answers until another one is chosen; a model without chat template is an agent from the
 * beginning.
 *
 * @throws ERR_FORMAT with a remedy for a model that can do neither
 */
export async function openLocalChat(chat: LocalChat): Promise<ChatParts> {
  const { folders, device, contextTokens, cacheGib, agent, io } = chat;
  const policy = await openLocalPolicy({ ...folders, device, contextTokens, cacheGib }, io);
  const adapters = new Map<string, Adapter>();
  const close = async (): Promise<void> => {
    for (const adapter of adapters.values()) adapter.close();
    await policy[Symbol.asyncDispose]();
  };
  try {
    if (policy.chatTemplate === undefined && agent === undefined) throw withoutTemplate(policy.folder);
    const { Adapter } = await import("../../../lib/model/adapter.ts");
    for (const { name, folder } of chat.adapters)
      adapters.set(name, await Adapter.load(policy.model, folder));
    const [first] = adapters.keys();
    const isAgent = agent !== undefined && (agent.isOnly || policy.chatTemplate === undefined);
    return {
      ...{ name: policy.folder, adapters: [...adapters.keys()], search: agent?.search },
      first: { adapter: first, isAgent },
      speaker: speakersOf(policy, adapters, chat),
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function withoutTemplate(folder: string): SeekError {
  const remedy = [
    "Remedy: seekrl generate continues a text; with --index the search agent needs no template;",
    "or put the model's chat_template.jinja into the folder",
  ].join(" ");
  return new SeekError(
    "ERR_FORMAT",
    `${folder}: has no chat template, so nothing says how messages are put. ${remedy}`,
  );
}

/** One speaker at a time: the sequence of the one before is given back. */
function speakersOf(
  policy: LocalPolicy,
  adapters: ReadonlyMap<string, Adapter>,
  chat: LocalChat,
): (choice: SpeakerChoice) => Promise<Speaker> {
  let open: ModelSpeaker | undefined;
  return async ({ adapter: name, isAgent }) => {
    const adapter = name === undefined ? false : adapters.get(name);
    const speaker = isAgent ? agentOf(policy, adapter, chat) : modelOf(policy, adapter, chat);
    open?.close();
    open = speaker instanceof ModelSpeaker ? speaker : undefined;
    return speaker;
  };
}

function agentOf(
  policy: LocalPolicy,
  adapter: Adapter | false | undefined,
  { agent, seed }: LocalChat,
): Speaker {
  if (agent === undefined) throw new UsageError("/search: expected --index, --retriever or --web");
  const engine: SequenceSource = { open: (ids, options) => policy.engine.open(ids, { ...options, adapter }) };
  const { tokenizer, chatTemplate } = policy;
  return agentSpeaker(agentPartsOf({ engine, tokenizer, chatTemplate }, agent.recipe, agent.search), seed);
}

function modelOf(policy: LocalPolicy, adapter: Adapter | false | undefined, chat: LocalChat): ModelSpeaker {
  const { engine, tokenizer, chatTemplate, folder } = policy;
  if (chat.agent?.isOnly)
    throw new UsageError("/search: a model of the built-in world is asked by its recipe alone");
  if (chatTemplate === undefined) throw withoutTemplate(folder);
  const { generate, seed } = chat;
  return new ModelSpeaker({ engine, tokenizer, chatTemplate }, { generate, seed, adapter });
}
