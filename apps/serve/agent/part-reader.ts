/** What an agent writes, as it comes: thoughts, queries that are shown as searches, and the answer. */
import type { FormatTags } from "../../../lib/rollout/formats/format.ts";
import type { SampledToken, TextPiece } from "../reply/tokens.ts";

/** Where in a turn the text is; `rest` is behind the answer. */
type Part = "thought" | "query" | "answer" | "rest";

/** A tag, and what it leads to. */
interface Mark {
  readonly text: string;
  readonly next: Part;
}

/** A token, and where its text ends, counted from the beginning of the turn. */
interface Placed {
  readonly token: SampledToken;
  readonly end: number;
}

/** What has been read. */
type ReadPiece = TextPiece & { readonly type: "reasoning" | "text" };

/** How answers are told. */
interface ReaderOptions {
  readonly tags: FormatTags;
  /** Whether the answer counts only when the turn is over; it is then kept, to be told by `release` or `demote`. */
  readonly isHeld: boolean;
  readonly onPiece: (piece: ReadPiece) => void;
}

/** Characters at the end of a text that may begin one of the marks. */
function numHeld(text: string, marks: readonly Mark[]): number {
  let held = 0;
  for (const mark of marks) {
    for (let length = Math.min(mark.text.length - 1, text.length); length > held; length--) {
      if (text.endsWith(mark.text.slice(0, length))) held = length;
    }
  }
  return held;
}

/** The mark that comes first; of those in one place the longest. */
function firstMark(
  text: string,
  marks: readonly Mark[],
): { readonly mark: Mark; readonly at: number } | undefined {
  let first: { readonly mark: Mark; readonly at: number } | undefined;
  for (const mark of marks) {
    const at = text.indexOf(mark.text);
    if (at < 0 || (first !== undefined && at > first.at)) continue;
    if (first === undefined || at < first.at || mark.text.length > first.mark.text.length)
      first = { mark, at };
  }
  return first;
}

function marksOf({ thoughts, queries, answer }: FormatTags, isHeld: boolean): Record<Part, readonly Mark[]> {
  const thoughtMarks = thoughts.flatMap(({ open, close }) => [open, close]);
  return {
    thought: [
      { text: answer.open, next: "answer" },
      { text: queries.open, next: "query" },
      ...thoughtMarks.map((text) => ({ text, next: "thought" as const })),
    ],
    query: [{ text: queries.close, next: "thought" }],
    // A held answer ends with its turn: what of it counts is not known before.
    answer: isHeld ? [] : [{ text: answer.close, next: "rest" }],
    rest: [],
  };
}

/** Reads the turns of one choice, token by token. Tags and queries are never told, nor the blanks around them. */
export class PartReader {
  /** Whether something was told as the answer. */
  hasAnswered = false;
  /** Tokens of thoughts, queries and their tags. */
  numReasoningTokens = 0;
  /** Tokens that are neither thoughts nor answer. */
  readonly silent: SampledToken[] = [];
  readonly #options: ReaderOptions;
  readonly #marks: Record<Part, readonly Mark[]>;
  #part: Part = "thought";
  #text = "";
  #numRead = 0;
  #placed: Placed[] = [];
  /** Blanks that are told once something follows them. */
  #blanks = "";
  #isBlockBegun = false;
  #hasThought = false;
  #waiting: SampledToken[] = [];
  #held: { text: string; tokens: SampledToken[] } = { text: "", tokens: [] };

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#marks = marksOf(options.tags, options.isHeld);
  }

  /** Whether the turn is within its answer, or behind it. */
  get isAnswering(): boolean {
    return this.#part === "answer" || this.#part === "rest";
  }

  /** Whether the answer's closing tag was read. */
  get isAnswerClosed(): boolean {
    return this.#part === "rest";
  }

  /** Takes the next token and the text that it completes. */
  push(token: SampledToken, text: string): void {
    if (!this.isAnswering) this.numReasoningTokens += 1;
    this.#text += text;
    this.#placed.push({ token, end: this.#numRead + this.#text.length });
    this.#read(false);
  }

  /** Ends the turn; `text` is what was held back of its last character. */
  endTurn(text = ""): void {
    this.#text += text;
    this.#read(true);
    this.silent.push(...this.#waiting.splice(0));
  }

  /** Begins the next turn. */
  beginTurn(): void {
    this.#placed = [];
    this.#numRead = 0;
    this.#enter("thought");
  }

  /** Tells the held answer in the words that count. */
  release(answer: string): void {
    const { tokens } = this.#held;
    this.#held = { text: "", tokens: [] };
    if (answer === "" && tokens.length === 0) return;
    this.hasAnswered = true;
    this.#options.onPiece({ type: "text", text: answer, tokens });
  }

  /** Tells the held answer as a thought, because it does not count. */
  demote(): void {
    const { text, tokens } = this.#held;
    if (text === "" && tokens.length === 0) return;
    this.#held = { text: "", tokens: [] };
    this.numReasoningTokens += tokens.length;
    this.#isBlockBegun = false;
    const { close } = this.#options.tags.answer;
    const said = text.trimEnd();
    this.#tellTrimmed("reasoning", {
      text: said.endsWith(close) ? said.slice(0, -close.length) : said,
      tokens,
    });
  }

  #read(isEnd: boolean): void {
    for (;;) {
      const marks = this.#marks[this.#part];
      const first = firstMark(this.#text, marks);
      if (first === undefined) {
        this.#take(this.#text.length - (isEnd ? 0 : numHeld(this.#text, marks)), true);
        return;
      }
      this.#take(first.at, true);
      this.#take(first.mark.text.length, false);
      this.#enter(first.mark.next);
    }
  }

  #enter(part: Part): void {
    this.silent.push(...this.#waiting.splice(0));
    this.#part = part;
    this.#blanks = "";
    this.#isBlockBegun = false;
  }

  /** Takes characters off the text, with the tokens that end in them. */
  #take(numChars: number, isShown: boolean): void {
    const text = this.#text.slice(0, numChars);
    this.#text = this.#text.slice(numChars);
    this.#numRead += numChars;
    const numWhole = this.#placed.findIndex(({ end }) => end > this.#numRead);
    const tokens = this.#placed
      .splice(0, numWhole < 0 ? this.#placed.length : numWhole)
      .map(({ token }) => token);
    if (!isShown || this.#part === "query" || this.#part === "rest") this.silent.push(...tokens);
    else if (this.#part === "answer" && this.#options.isHeld) {
      this.#held.text += text;
      this.#held.tokens.push(...tokens);
    } else this.#tellTrimmed(this.#part === "answer" ? "text" : "reasoning", { text, tokens });
  }

  /** Without the blanks at both ends of a block; an empty line stands between blocks of thought. */
  #tellTrimmed(type: ReadPiece["type"], { text, tokens }: TextPiece): void {
    this.#waiting.push(...tokens);
    const all = this.#blanks + text;
    const kept = (this.#isBlockBegun ? all : all.trimStart()).trimEnd();
    this.#blanks = kept === "" ? all : all.slice(all.trimEnd().length);
    if (kept === "") return;
    const gap = type === "reasoning" && this.#hasThought && !this.#isBlockBegun ? "\n\n" : "";
    this.#isBlockBegun = true;
    if (type === "reasoning") this.#hasThought = true;
    else this.hasAnswered = true;
    this.#options.onPiece({ type, text: gap + kept, tokens: this.#waiting.splice(0) });
  }
}
