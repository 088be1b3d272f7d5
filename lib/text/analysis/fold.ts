/** Folding: forms of letters that do not tell words apart become one. */
import { normalized } from "../normal-form.ts";

/** Most words by far. */
export const onlyAscii = /^[\0-\x7f]*$/;

/** Accents, vowel points and signs of cantillation. Other scripts' marks are vowels and parts of letters, and stay. */
const point =
  /(?=\p{M})[\p{Script=Inherited}\p{Script=Common}\p{Script=Cyrillic}\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}]/gu;

// Arabic writes a narrow blank where a word has parts; in other scripts these only choose how letters are joined.
const innerBlank = /(?<=\p{Script=Arabic})\u200c/gu;
const unseen =
  /\u200c|\u200d|[\u00ad\u0640\u2060]|(?<=[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}])\u200b/gu;

const otherDigit = /(?![0-9])\p{Nd}/gu;
const isDigit = /\p{Nd}/u;

/** Every script's ten digits stand in a row, from zero on. */
function digitOf(character: string): string {
  let zero = character.codePointAt(0) ?? 0;
  const own = zero;
  while (own - zero < 9 && isDigit.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return String(own - zero);
}

const withoutPoints = (letters: string): string => normalized(letters, "NFD").replace(point, "");
// Romanian is written with commas or with cedillas; its stemmer knows the latter.
const variants: Readonly<Record<string, string>> = { ё: "е", ѐ: "е", ѝ: "и", ș: "ş", ț: "ţ" };

/**
 * What stemmers are given: lower case, one form of each letter, digits 0 to 9, no marks but those that are letters or
 * accents of Latin letters. Apostrophes stay.
 */
export function foldForms(text: string): string {
  if (onlyAscii.test(text)) return text.toLowerCase();
  return (
    normalized(text, "NFKC")
      .toLowerCase()
      .replace(innerBlank, " ")
      .replace(unseen, "")
      .replace(point, "")
      .replace(/\p{Script=Greek}+/gu, withoutPoints)
      // The one letter whose lower case depends on what stands around it.
      .replaceAll("ς", "σ")
      .replace(/[ёѐѝșț]/g, (letter) => variants[letter] ?? letter)
      .replace(otherDigit, digitOf)
  );
}

// Latin letters whose strokes and joints Unicode does not take apart.
const latinLetters: Readonly<Record<string, string>> = {
  ...{ ß: "ss", æ: "ae", œ: "oe", þ: "th", đ: "d", ð: "d", ħ: "h", ı: "i", ł: "l", ø: "o", ŧ: "t" },
};
const arabicLetters: Readonly<Record<string, string>> = { ى: "ي", ی: "ي", ک: "ك", ة: "ه", ہ: "ه", ە: "ه" };

/** Folds what stemmers must still see: accents of Latin letters, and the Arabic letters that are written in several ways. */
export function foldAccents(word: string): string {
  if (onlyAscii.test(word)) return word;
  return word
    .replace(/\p{Script=Latin}+/gu, (letters) =>
      withoutPoints(letters).replace(/[ßæœþđðħıłøŧ]/g, (letter) => latinLetters[letter] ?? letter),
    )
    .replace(/\p{Script=Arabic}+/gu, (letters) =>
      withoutPoints(letters).replace(/[ىیکةہە]/g, (letter) => arabicLetters[letter] ?? letter),
    );
}
