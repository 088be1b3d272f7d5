/**
 * Writes a corpus of made-up documents, to see what retrieval costs at a size that no data set at hand has.
 *
 * `node dist/bench/corpus/generate.js --out corpus.jsonl --passages 5000000 [--seed 0]`: documents of 10 passages' length
 * (1,000 words), a title each. Words are drawn by Zipf's law (exponent 1) out of 500,000, as in a language; the words of
 * a title are rare ones and stand in its document every hundred words or so, as names do.
 */
import { parseArgs } from "node:util";
import { writeFileAtomic } from "../../lib/base/files/files.ts";
import { randomOf, wordOf } from "./made-up-words.ts";

const { values } = parseArgs({
  options: {
    out: { type: "string" },
    passages: { type: "string", default: "100000" },
    seed: { type: "string", default: "0" },
  },
});
if (values.out === undefined) throw new Error("--out: required");

const vocabularySize = 500_000;
const wordsPerDocument = 1000;
const numDocuments = Math.ceil(Number(values.passages) / 10);

const random = randomOf(Number(values.seed));

// By inversion: for the density 1/x on [1, n] the quantile of u is n^u.
const words = Array.from({ length: vocabularySize }, (_, n) => wordOf(n));
const drawWord = (): string => words[Math.floor(vocabularySize ** random()) - 1]!;
const drawName = (): string => {
  const word = words[Math.floor(random() * vocabularySize)]!;
  return word[0]!.toUpperCase() + word.slice(1);
};

function* documents(): Generator<string> {
  for (let id = 0; id < numDocuments; id += 1) {
    const title = `${drawName()} ${drawName()}`;
    const text: string[] = [];
    for (let i = 0; i < wordsPerDocument; i += 1)
      text.push(i % 97 === 0 ? title : i % 13 === 12 ? `${drawWord()}.` : drawWord());
    yield `${JSON.stringify({ id: String(id), title, text: text.join(" ") })}\n`;
  }
}

await writeFileAtomic(values.out, documents());
