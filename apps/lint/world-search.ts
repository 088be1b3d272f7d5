/** A small search and a question for it, for those who have no index at hand. */
import type { Search } from "../../lib/search/search.ts";
import { librarySearch } from "../world/library.ts";
import { createWorld } from "../world/world.ts";

/** A search of the built-in world, and something to ask it. */
interface WorldSearch {
  readonly search: Search;
  readonly question: string;
}

/**
 * Searches the built-in world's passages by their words.
 *
 * @returns the search, and one of the world's test questions
 * @example
 * const { search, question } = worldSearch();
 * const [hits] = await search([question], { topK: 2 });
 * assert.equal(hits?.length, 2);
 */
export function worldSearch(): WorldSearch {
  const { passages, questions } = createWorld({ seed: 0, numTrain: 1, numValidation: 1, numTest: 20 });
  const asked = questions.test.find(({ question }) => !question.includes(",")) ?? questions.test[0];
  return {
    question: asked?.question ?? "Who wrote it?",
    search: librarySearch(passages),
  };
}
