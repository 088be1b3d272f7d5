/** How texts are cut into words and terms: forms of letters, scripts without spaces, stems and stop words by language. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Language, languages } from "../../lib/text/analysis/languages.ts";
import { meaningOf, queryWords, shownTitle, termsOf, wordsOf } from "../../lib/text/analysis/words.ts";
import { projectRoot } from "../project.ts";

const read = (path: string): unknown =>
  JSON.parse(readFileSync(join(projectRoot, "test/golden", path), "utf8"));
const termsIn = (text: string, language: Language): readonly string[] =>
  termsOf(text, { rules: 2, language });

const sets = read("search/languages.json") as Record<string, { readonly passages: readonly string[] }>;
const texts = Object.entries(sets).map(
  ([language, { passages }]) => [language as Language, passages.join("\n")] as const,
);

test("composed and decomposed letters are one, in every language", () => {
  for (const [language, text] of texts)
    for (const form of ["NFC", "NFD", "NFKC", "NFKD"] as const)
      for (const told of ["auto", language] as const)
        assert.deepEqual(
          meaningOf(text.normalize(form), { rules: 2, language: told }),
          meaningOf(text, { rules: 2, language: told }),
          `${language} ${form}`,
        );
});

test("accents of Latin, Greek and Cyrillic letters do not matter", () => {
  const alike = [
    ["Łódź Malmø Straße", "Lodz Malmo Strasse"],
    ["Điện Biên Phủ", "dien bien phu"],
    ["ΈΛΛΗΝΑΣ", "ελληνας"],
    ["ἄνθρωπος", "ανθρωπος"],
    ["ёлка за́мок", "елка замок"],
    ["İstanbul", "istanbul"],
    ["e\u0301te\u0301", "été"],
  ];
  for (const [one = "", other = ""] of alike) assert.deepEqual(wordsOf(one), wordsOf(other), one);
});

test("marks that are letters tell words apart", () => {
  for (const words of [
    ["दिन", "दान", "दीन", "दन"], // day, alms, poor
    ["কলা", "কাল", "কলি", "কুল"],
    ["கல்", "கால்", "கலை"],
    ["ತಲೆ", "ತಾಲ", "ತಲಾ"],
    ["മല", "മാല", "മൂല"],
    ["తల", "తాళ", "తెల"],
    ["ਕਲਾ", "ਕਾਲ", "ਕੁਲ"],
    ["කල", "කාල", "කෙල"],
    ["བོད", "བད", "བུད"],
    ["ދިވެހި", "ދވހ", "ދުވަހު"],
    ["мой", "мои", "край"],
  ])
    assert.equal(new Set(words.map((word) => termsOf(word).join())).size, words.length, words.join());
});

test("points that writers leave out do not matter, nor do the digits of a script", () => {
  const alike = [
    ["مُحَمَّد", "محمد"], // short vowels
    ["أحمـــد آمن إسلام", "احمد امن اسلام"], // hamza, stretching
    ["مدرسة على", "مدرسه علي"],
    ["کتاب ایران", "كتاب ايران"], // Persian letters
    ["\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd", "\u05e9\u05dc\u05d5\u05dd"], // Hebrew vowel points
    ["बन्\u200dधु", "बन्धु"], // how letters are joined
    ["Donau\u00addampf", "Donaudampf"],
    ["١٩٢٨ १९२८ ๑๙๒๘ ১৯২৮ ۱۹۲۸ １９２８ 𝟏𝟗𝟐𝟖", "1928 1928 1928 1928 1928 1928 1928"],
  ];
  for (const [one = "", other = ""] of alike) assert.deepEqual(wordsOf(one), wordsOf(other), one);
  assert.deepEqual(wordsOf("می\u200cخواهم"), wordsOf("می خواهم"));
});

const runs = {
  Han: "中华人民共和国万岁",
  kana: "ひらがなとカタカナー",
  Hangul: "대한민국은",
  Thai: "กรุงเทพมหานครอมรรัตนโกสินทร์",
  Lao: "ສາທາລະນະລັດປະຊາທິປະໄຕ",
  Khmer: "ព្រះរាជាណាចក្រកម្ពុជា",
  Myanmar: "ပြည်ထောင်စုသမ္မတမြန်မာ",
};

test("of scripts without spaces every part of a run has terms of the run alone", () => {
  for (const [script, run] of Object.entries(runs)) {
    const all = new Set(termsOf(run));
    const letters = run.match(/\P{M}\p{M}*/gu) ?? [];
    for (let from = 0; from < letters.length; from += 1)
      for (let to = from + 1; to <= letters.length; to += 1) {
        const part = termsOf(letters.slice(from, to).join(""));
        assert.ok(
          part.length > 0 && part.every((term) => all.has(term)),
          `${script}: ${letters.slice(from, to)}`,
        );
      }
  }
});

test("letters within pairs are apart from the pairs, and blanks without width do not cut a run", () => {
  assert.deepEqual(meaningOf("2024年の大会"), {
    words: ["2024年の大会"],
    terms: ["2024", "年の", "の大", "大会"],
    letters: ["年", "の", "大", "会"],
    stops: [],
  });
  assert.deepEqual(meaningOf("猫 ｱﾞ").terms, ["猫", "ア"]);
  assert.deepEqual(termsOf("ภาษา\u200bไทย"), termsOf("ภาษาไทย"));
});

const { stems } = read("text/snowball.json") as { readonly stems: Record<string, Record<string, string>> };

test("words are reduced as Snowball's own program reduces them", () => {
  for (const [language, own] of Object.entries(stems))
    for (const [word, stem] of Object.entries(own)) {
      const isLatin = /\p{Script=Latin}/u.test(stem);
      const bare = isLatin ? stem.normalize("NFD").replace(/\p{M}/gu, "") : stem.normalize("NFC");
      assert.deepEqual(termsIn(word, language as Language), [bare.replace("ı", "i")], `${language}: ${word}`);
    }
});

test("each language's stop words are left out, of its script's usual one without being told", () => {
  const cases: [Language, string, string][] = [
    ["de", "die und der Fluss", "fluss"],
    ["fr", "l'eau et les de la", "eau"],
    ["es", "el río de la", "rio"],
    ["it", "dell'acqua e il", "acqua"],
    ["vi", "của các sông là", "song"],
    ["auto", "и не река в", "рек"],
    ["auto", "και το ποτάμι είναι", "ποταμ"],
    ["auto", "من النهر في إلى", "نهر"],
    ["auto", "नदी में है और", "नद"],
    ["auto", "של הנהר את", "נהר"],
    ["ru", "the river и река", "river рек"],
  ];
  for (const [language, text, terms] of cases)
    assert.equal(termsIn(text, language).join(" "), terms, `${language}: ${text}`);
  for (const word of ["كمان", "كتاب", "عنوان", "سيارات", "مدينة"])
    for (const article of ["ال", "وال", "بال", "لل"])
      assert.deepEqual(termsOf(article + word), termsOf(word));
  assert.deepEqual(termsIn("schön", "de"), ["schon"], "an accent tells a word from a stop word");
});

test("every language has its rules, and cuts words of any script", () => {
  const text = texts.map(([, each]) => each.slice(0, 40)).join(" ");
  for (const language of languages) {
    const { words, terms } = meaningOf(text, { rules: 2, language });
    assert.ok(words.length > 40 && terms.length > 40, language);
  }
});

test("a run of 200,000 letters is cut", () => {
  const { terms, letters } = meaningOf("猫".repeat(200_000));
  assert.deepEqual([terms.length, letters.length], [199_999, 200_000]);
});

test("a query of 200,000 stop words is cut, and names no title", () => {
  assert.deepEqual(queryWords("the who ".repeat(100_000)).titles, []);
});

test("stop words alone are terms of a query, like no other term", () => {
  for (const query of ["The Who", "Can", "It", "To be or not to be"]) {
    for (const word of query.toLowerCase().split(" ")) assert.ok(termsOf(query).includes(`=${word}`), word);
    assert.ok(!termsOf(`${query} zebra`).some((term) => term.startsWith("=")));
  }
  const { words, titles, areStops } = queryWords("Who is the zebra?");
  assert.deepEqual([words, areStops], [["zebra"], false]);
  assert.deepEqual(titles.map(shownTitle), ["who is", "who is the", "is the"]);
  const alone = queryWords("Who is the who");
  assert.deepEqual([alone.words, alone.areStops], [["who", "is", "the", "who"], true]);
});
