/** What a server of the Model Context Protocol offers its clients. */
import type { Passage } from "../../../lib/search/corpus/passage.ts";
import type { Search } from "../../../lib/search/search.ts";
import type { ServedModel } from "../reply/reply.ts";

/** A document that was asked for by its title or by the id of one of its passages. */
export interface FoundDocument {
  readonly title: string;
  readonly numPassages: number;
  /** The number of the passage that was asked for, from 0. */
  readonly at: number;
  read(first: number, count: number): Promise<Passage[]>;
}

/** Documents that can be read, and what is known of all of them. */
export interface ServedCorpus {
  find(name: string): Promise<FoundDocument | undefined>;
  /** Numbers and settings, for people. */
  describe(): Promise<Readonly<Record<string, unknown>>>;
}

/** What the tools are made of. All of it stays the caller's to close. */
export interface McpToolParts {
  readonly search: Search;
  /** @default nothing can be read beyond what a search finds */
  readonly corpus?: ServedCorpus | undefined;
  /** @default nothing answers questions */
  readonly agent?: ServedModel | undefined;
  /** A search that takes longer has failed. Milliseconds. @default 30_000 */
  readonly searchTimeoutMs?: number | undefined;
  /** Called with what failed; clients learn only that something did. */
  readonly onFault?: ((tool: string, error: unknown) => void) | undefined;
}
