/** Which answers of many questions stand in passages. */
import type { Question } from "../../data/question.ts";
import type { StreamOptions } from "../../text/words/lexicon.ts";
import { PhraseTable } from "../../text/words/phrases.ts";
import type { Hit } from "../search.ts";

/** Questions and all their answers, each answer once. */
export class AnswerFinder {
  readonly #table: PhraseTable;
  /** The answers of each question. */
  readonly #answers: ReadonlyMap<Question, ReadonlySet<number>>;

  private constructor(table: PhraseTable, answers: ReadonlyMap<Question, ReadonlySet<number>>) {
    this.#table = table;
    this.#answers = answers;
  }

  /** Takes the questions. */
  static async of(questions: readonly Question[]): Promise<AnswerFinder> {
    const numbers = new Map<string, number>();
    const numberOf = (answer: string): number => {
      if (!numbers.has(answer)) numbers.set(answer, numbers.size);
      return numbers.get(answer) ?? 0;
    };
    const answers = new Map(questions.map((each) => [each, new Set(each.answers.map(numberOf))]));
    return new AnswerFinder(await PhraseTable.of([...numbers.keys()]), answers);
  }

  /** Notes the answers that stand in passages of a corpus. @throws ERR_ABORTED */
  async read(passages: Parameters<PhraseTable["mark"]>[0], options: StreamOptions): Promise<void> {
    await this.#table.mark(passages, options);
  }

  /** The questions of which an answer stands in what was read. */
  answerable(): Set<Question> {
    const marked = this.#table.marked();
    const hasMark = (numbers: ReadonlySet<number>): boolean => [...numbers].some((number) => marked[number]);
    return new Set(
      [...this.#answers].filter(([, numbers]) => hasMark(numbers)).map(([question]) => question),
    );
  }

  /**
   * Where each question's first hit with an answer stands.
   *
   * @param questions some of those given
   * @param found the hits of each
   * @returns ranks from 1; infinity where no hit has an answer
   */
  async ranks(questions: readonly Question[], found: readonly (readonly Hit[])[]): Promise<number[]> {
    const texts = [...new Set(found.flatMap((hits) => hits.map(({ text }) => text)))];
    const inTexts = await this.#table.findIn(texts);
    const answersIn = new Map(texts.map((text, i) => [text, inTexts[i] ?? []]));
    return questions.map((question, q) => {
      const own = this.#answers.get(question);
      const has = ({ text }: Hit): boolean => (answersIn.get(text) ?? []).some((number) => own?.has(number));
      const place = (found[q] ?? []).findIndex(has);
      return place < 0 ? Number.POSITIVE_INFINITY : place + 1;
    });
  }
}
