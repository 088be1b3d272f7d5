/** What a chat is made of, opened from the command's options: speakers, a search, named adapters. */
import type { Search } from "../../../lib/search/search.ts";
import type { Speaker } from "./speaker.ts";

/** Which speaker is wanted. */
export interface SpeakerChoice {
  /** One of `adapters`, or undefined for the model alone. */
  readonly adapter: string | undefined;
  /** Whether questions are answered by the search agent. */
  readonly isAgent: boolean;
}

/** What can be chosen from in a chat. */
export interface ChatParts extends AsyncDisposable {
  /** Of the model or the server, for the greeting. */
  readonly name: string;
  /** Names for `/adapter`; behind a server its models. */
  readonly adapters: readonly string[];
  /** For `/search QUERY`. @default none was named */
  readonly search?: Search | undefined;
  readonly first: SpeakerChoice;
  /**
   * Opens a speaker; the one before is given back.
   *
   * @throws UsageError with a remedy for one that there cannot be
   */
  readonly speaker: (choice: SpeakerChoice) => Promise<Speaker>;
}
