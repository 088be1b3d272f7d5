/** A chat with a model behind a server. */
import type { Search } from "../../../lib/search/search.ts";
import { UsageError } from "../command.ts";
import type { ChatParts } from "./chat-parts.ts";
import { ServerSpeaker } from "./server-speaker.ts";

/** The server, and what `/search` looks into. */
interface ServerChat {
  readonly endpoint: {
    readonly address: string;
    readonly model?: string | undefined;
    readonly keyEnv?: string | undefined;
  };
  readonly sampling: Readonly<Record<string, unknown>>;
  readonly search: Search | undefined;
  readonly signal: AbortSignal;
}

/**
 * Opens it; its models take the place of adapters.
 *
 * @throws ERR_REMOTE when it does not answer; ERR_ARGUMENT for an address that is none
 */
export async function openServerChat({ endpoint, sampling, search, signal }: ServerChat): Promise<ChatParts> {
  const speaker = await ServerSpeaker.open({ ...endpoint, sampling }, signal);
  const { model } = speaker;
  return {
    name: `${model} at ${endpoint.address}`,
    adapters: speaker.models,
    search,
    first: { adapter: model, isAgent: false },
    speaker: async ({ adapter, isAgent }) => {
      if (isAgent) {
        throw new UsageError(
          "/search: a server answers by itself; seekrl serve has agents as models: /adapter",
        );
      }
      speaker.model = adapter ?? model;
      return speaker;
    },
    [Symbol.asyncDispose]: async () => {},
  };
}
