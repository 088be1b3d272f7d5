/** Answers in texts, against the plain rule: normalise both, look for the words in a row. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { PassageStore, writePassageStore } from "../../lib/search/corpus/passage-store.ts";
import { answerWords } from "../../lib/text/words/normalize.ts";
import { cutAnswers, PhraseTable } from "../../lib/text/words/phrases.ts";
import { randomFrom } from "../dice.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-phrases-"));
after(() => rm(folder, { recursive: true }));

const corners =
  "Σςß İiI'’-–_.,()U.S. a an the The theA a-the\u00a0\u3000\u0085\u001c\u001e\t\n \u2028éÉé\u0301½№ﬁ$%東京\u200d9";

test("texts are cut into the words of the answer normaliser", async () => {
  const random = randomFrom(6);
  const list = [...corners, " a ", " the ", "-an-", " "];
  const texts = Array.from({ length: 6000 }, () =>
    Array.from({ length: 1 + Math.floor(random() * 50) }, () =>
      random() < 0.85
        ? (list[Math.floor(random() * list.length)] ?? "")
        : String.fromCodePoint(Math.floor(random() * 0x3000)),
    ).join(""),
  );
  for (let first = 0; first < 0x3100; first += 1) {
    const c = String.fromCodePoint(first);
    texts.push(`Σ${c}the${c}Σ ${c} a${c}b`);
  }
  using cut = await cutAnswers(texts);
  const words = cut.words();
  for (const [i, text] of texts.entries())
    assert.deepEqual(words[i], answerWords(text).join(" "), JSON.stringify(text));
});

test("phrases are found where their words stand in a row, and nowhere else", async () => {
  const random = randomFrom(8);
  const words = (count: number): string =>
    Array.from(
      { length: count },
      () => ["new", "york", "the", "Big", "apple!", "U.S."][Math.floor(random() * 6)],
    ).join(" ");
  const phrases = Array.from({ length: 200 }, (_, i) => words(i % 5));
  const texts = Array.from({ length: 300 }, () => words(Math.floor(random() * 12)));
  const table = await PhraseTable.of(phrases);
  const found = await table.findIn(texts);
  for (const [i, text] of texts.entries()) {
    const normal = ` ${answerWords(text).join(" ")} `;
    const expected = phrases.flatMap((phrase, p) => {
      const own = answerWords(phrase).join(" ");
      return own !== "" && normal.includes(` ${own} `) ? [p] : [];
    });
    assert.deepEqual(found[i], expected, text);
  }
});

test("a corpus marks its phrases; titles do not count", async () => {
  const path = join(folder, "passages.bin");
  await writePassageStore(path, [
    { id: "0", title: "Lima", text: "A city in Peru." },
    { id: "1", title: "", text: "Rome is the capital." },
  ]);
  const store = await PassageStore.open(path);
  const table = await PhraseTable.of(["Lima", "peru", "is capital", "The", "city Rome"]);
  const seen: number[] = [];
  await table.mark({ store, first: 0, count: 2 }, { onProgress: (done) => seen.push(done) });
  assert.deepEqual(table.marked(), [false, true, true, false, false]);
  assert.deepEqual(seen, [2]);
  store.close();
});
