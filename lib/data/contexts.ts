/** The texts that published sets give with a question: HotpotQA's and MuSiQue's paragraphs, LongBench's context. */
import { createHash } from "node:crypto";
import type { TitledText } from "../text/observation.ts";
import { has, isObject, shown, textsColumn } from "./files/columns.ts";
import { type JsonRow, rowError, textColumn } from "./files/jsonl.ts";
import type { Question } from "./question.ts";

interface Paragraph {
  readonly title: string;
  readonly sentences: readonly string[];
}

/** HotpotQA's and 2WikiMultiHopQA's paragraphs: pairs of title and sentences, on the hub a list of each. */
export function hotpotDocuments(row: JsonRow): readonly TitledText[] {
  const { context } = row.value;
  // 2WikiMultiHopQA on the hub keeps the JSON as a text.
  const pairs: unknown = typeof context === "string" ? parsed(row, context) : context;
  if (isObject(pairs)) return zipped({ value: pairs, index: row.index, where: `${row.where}, context` });
  if (!Array.isArray(pairs)) throw rowError(row, `column "context": a list of paragraphs`, shown(context));
  const paragraphs = pairs.map((pair: unknown, i) => {
    const [title, sentences] = Array.isArray(pair) ? (pair as unknown[]) : [];
    if (typeof title === "string" && isTexts(sentences)) return { title, sentences };
    throw rowError(row, `column "context": pairs of title and sentences`, `${shown(pair)} at ${i}`);
  });
  return inText(paragraphs);
}

function parsed(row: JsonRow, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw rowError(row, `column "context": JSON`, shown(text));
  }
}

function zipped(context: JsonRow): readonly TitledText[] {
  const titles = textsColumn(context, "title");
  const column = has(context, "sentences") ? "sentences" : "content";
  const lists: unknown = context.value[column];
  if (!Array.isArray(lists) || !lists.every(isTexts) || lists.length !== titles.length) {
    throw rowError(context, `"${column}": sentences for each of ${titles.length} titles`, shown(lists));
  }
  return inText(titles.map((title, i) => ({ title, sentences: lists[i] as string[] })));
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === "string");

/** HotpotQA's sentences begin with the blank before them, 2WikiMultiHopQA's have none. */
function inText(paragraphs: readonly Paragraph[]): readonly TitledText[] {
  const hasBlanks = paragraphs.some(({ sentences }) => sentences.slice(1).some((each) => /^\s/.test(each)));
  return paragraphs.map(({ title, sentences }) => ({ title, text: sentences.join(hasBlanks ? "" : " ") }));
}

/** MuSiQue's paragraphs. */
export function musiqueDocuments(row: JsonRow): readonly TitledText[] {
  const { paragraphs } = row.value;
  if (!Array.isArray(paragraphs)) throw rowError(row, `column "paragraphs": a list`, shown(paragraphs));
  return paragraphs.map((each: unknown, i) => {
    if (!isObject(each)) throw rowError(row, `column "paragraphs": objects`, shown(each));
    const paragraph = { value: each, index: row.index, where: `${row.where}, paragraphs[${i}]` };
    return { title: textColumn(paragraph, "title"), text: textColumn(paragraph, "paragraph_text") };
  });
}

/** LongBench's context: its numbered passages one by one where it has some, or the whole as one text. */
export function longBenchDocuments(row: JsonRow): readonly TitledText[] {
  const context = textColumn(row, "context");
  const [before = "", ...passages] = context.split(/^Passage \d+:\n/m);
  if (before.trim() !== "" || passages.length === 0) return [{ title: "", text: context.trim() }];
  return passages.map((passage) => {
    const end = passage.indexOf("\n");
    if (end < 0) return { title: "", text: passage.trim() };
    return { title: passage.slice(0, end).trim(), text: passage.slice(end + 1).trim() };
  });
}

/** A passage of a corpus. */
interface ContextPassage extends TitledText {
  /** Follows from title and text, so that corpora of several sets can be put together. */
  readonly id: string;
}

/**
 * The documents of some questions as a corpus to search in: the distractors of each question among those of all others.
 * A passage that stands with several questions is one; what differs in blanks at its ends only is the same.
 *
 * @param questions - with their documents
 * @returns the passages in the order in which they first stand
 * @example
 * const documents = [{ title: "Paris", text: "a city" }];
 * const question = { id: "a", question: "what?", answers: ["x"], documents };
 * assert.equal([...contextCorpus([question, { ...question, id: "b" }])].length, 1);
 */
export function* contextCorpus(questions: Iterable<Question>): Generator<ContextPassage> {
  const known = new Set<string>();
  for (const { documents = [] } of questions) {
    for (const { title, text } of documents) {
      const passage = { title: title.trim(), text: text.trim() };
      if (passage.text === "") continue;
      const id = createHash("sha256").update(`${passage.title}\n${passage.text}`).digest("hex").slice(0, 16);
      if (known.has(id)) continue;
      known.add(id);
      yield { id, ...passage };
    }
  }
}
