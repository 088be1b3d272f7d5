/** What a user types in a chat: messages of one line or several, and Ctrl-C. */
import { createInterface, type Interface } from "node:readline";
import type { CommandContext, Input } from "../command.ts";
import { addToHistory, readHistory } from "./line-history.ts";

/** Who types, and where lines are kept. */
interface ChatInputOptions extends Pick<CommandContext, "stdout"> {
  readonly stdin: Input;
  /** Whether somebody types, rather than a file. */
  readonly isTerminal: boolean;
  /** File of earlier lines. @default none is read or written */
  readonly history?: string | undefined;
  /** Told once when the history cannot be written. */
  readonly onHistoryFailure: (error: Error) => void;
  /** Ends the input. */
  readonly signal: AbortSignal;
}

/** Around what is pasted, where the terminal has been told to say so. */
const pasteMarks = { on: "\u{1b}[?2004h", off: "\u{1b}[?2004l" };
const prompts = { first: "> ", further: "… " };

/** Messages as they are typed. A line that ends with a backslash goes on in the next one, and so does what is pasted. */
export class ChatInput implements Disposable {
  readonly #lines: Interface;
  readonly #options: ChatInputOptions;
  #isPasting = false;
  /** Of each line that has come and was not taken yet: whether it was pasted. */
  readonly #pasted: boolean[] = [];
  #hasFailed = false;
  /** Fires on Ctrl-C while something is under way. */
  #interrupt: (() => void) | undefined;
  #numInterrupts = 0;

  private constructor(lines: Interface, options: ChatInputOptions) {
    this.#lines = lines;
    this.#options = options;
    lines.on("line", () => this.#pasted.push(this.#isPasting));
    lines.on("SIGINT", () => this.#onInterrupt());
    if (!options.isTerminal) return;
    options.stdout.write(pasteMarks.on);
    options.stdin.on("keypress", this.#onKey);
  }

  /** Begins to read. */
  static async open(options: ChatInputOptions): Promise<ChatInput> {
    const { stdin: input, stdout: output, isTerminal, history, signal } = options;
    if (!isTerminal) return new ChatInput(createInterface({ input, signal }), options);
    const earlier = history === undefined ? [] : await readHistory(history);
    const lines = createInterface({
      ...{ input, output, signal, terminal: true },
      ...{ history: earlier, historySize: 1000, removeHistoryDuplicates: true },
    });
    return new ChatInput(lines, options);
  }

  /** What is typed, message by message, until the input ends. */
  async *messages(): AsyncGenerator<string, void, undefined> {
    const waiting = this.#lines[Symbol.asyncIterator]();
    let parts: string[] = [];
    for (;;) {
      this.#prompt(parts.length > 0);
      const { value: line, done } = await waiting.next();
      if (done) break;
      this.#numInterrupts = 0;
      await this.#keep(line);
      const goesOn = line.endsWith("\\");
      parts.push(goesOn ? line.slice(0, -1) : line);
      const isPasted = this.#pasted.shift();
      if (goesOn || isPasted) continue;
      const message = parts.join("\n").trim();
      parts = [];
      if (message !== "") yield message;
    }
    const rest = parts.join("\n").trim();
    if (rest !== "") yield rest;
  }

  /** Does something that Ctrl-C ends. */
  async interruptible<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const stop = new AbortController();
    this.#interrupt = () => stop.abort();
    try {
      return await work(AbortSignal.any([stop.signal, this.#options.signal]));
    } finally {
      this.#interrupt = undefined;
    }
  }

  /** Gives the terminal back as it was. */
  [Symbol.dispose](): void {
    const { stdin, stdout, isTerminal } = this.#options;
    if (isTerminal) {
      stdin.off("keypress", this.#onKey);
      stdout.write(pasteMarks.off);
    }
    this.#lines.close();
  }

  readonly #onKey = (_: string | undefined, key: { readonly name?: string } | undefined): void => {
    if (key?.name === "paste-start") this.#isPasting = true;
    if (key?.name === "paste-end") this.#isPasting = false;
  };

  #onInterrupt(): void {
    if (this.#interrupt !== undefined) {
      this.#interrupt();
      return;
    }
    this.#numInterrupts += 1;
    if (this.#numInterrupts > 1) {
      this.#lines.close();
      return;
    }
    this.#options.stdout.write("\n(Ctrl-C once more or /exit leaves)\n");
    // What was begun is thrown away, as in a shell.
    this.#lines.write(null, { ctrl: true, name: "e" });
    this.#lines.write(null, { ctrl: true, name: "u" });
    this.#lines.prompt();
  }

  #prompt(isFurther: boolean): void {
    if (!this.#options.isTerminal || this.#options.signal.aborted) return;
    this.#lines.setPrompt(isFurther ? prompts.further : prompts.first);
    this.#lines.prompt();
  }

  async #keep(line: string): Promise<void> {
    const { history, isTerminal, onHistoryFailure } = this.#options;
    if (!isTerminal || history === undefined || line.trim() === "" || this.#hasFailed) return;
    await addToHistory(history, line).catch((error: Error) => {
      this.#hasFailed = true;
      onHistoryFailure(error);
    });
  }
}
