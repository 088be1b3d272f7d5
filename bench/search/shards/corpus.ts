/** A corpus of any size from a seed: passages of some 40 words drawn by Zipf's law, one in eight said twice. */
import { writeFileAtomic } from "../../../lib/base/files/files.ts";
import type { Passage } from "../../../lib/search/corpus/passage.ts";
import { randomOf, wordOf } from "../../corpus/made-up-words.ts";

const vocabularySize = 200_000;

/** Passages in their order; a passage that is said twice is said far apart, in other shards. */
export function* generatedPassages(count: number, seed = 7): Generator<Passage> {
  const words = Array.from({ length: vocabularySize }, (_, n) => wordOf(n));
  const random = randomOf(seed);
  // By inversion: for the density 1/x on [1, n] the quantile of u is n^u.
  const drawWord = (): string => words[Math.floor(vocabularySize ** random()) - 1] ?? "";
  const drawName = (): string => words[Math.floor(vocabularySize * random())] ?? "";
  const said: Omit<Passage, "id">[] = [];
  for (let i = 0; i < count; i += 1) {
    const isRepeated = i % 8 === 7 && i > count / 2;
    const earlier = isRepeated ? said[Math.floor(said.length * random())] : undefined;
    const text = (): string => Array.from({ length: 20 + Math.floor(40 * random()) }, drawWord).join(" ");
    const passage = earlier ?? { title: `${drawName()} ${drawName()}`, text: text() };
    if (i % 97 === 0) said.push(passage);
    yield { id: `${i}`, ...passage };
  }
}

/** Writes them as JSON Lines. */
export async function writeCorpus(path: string, count: number): Promise<void> {
  function* lines(): Generator<string> {
    for (const passage of generatedPassages(count)) yield `${JSON.stringify(passage)}\n`;
  }
  await writeFileAtomic(path, lines());
}

/** Questions: the title and four words of a passage, of each shard's turn. */
export function questionsOf(passages: number, count: number): string[] {
  const every = Math.floor(passages / count);
  const questions: string[] = [];
  let i = 0;
  for (const { title, text } of generatedPassages(passages)) {
    if (i % every === 0 && questions.length < count)
      questions.push(`${title} ${text.split(" ").slice(3, 7).join(" ")}`);
    i += 1;
  }
  return questions;
}
