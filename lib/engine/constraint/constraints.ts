/** Constraints as an engine asks for them; the grammars behind them live on a thread of their own. */
import { Worker } from "node:worker_threads";
import { SeekError } from "../../base/errors.ts";
import type { PackedBytes, TokenTable } from "../vocabulary.ts";
import type { Constraint } from "./constraint.ts";
import type { GrammarReply, GrammarTask } from "./grammar-thread.ts";
import type { FollowedText, GrammarSource, GrammarVocabulary } from "./grammars.ts";
import { jsonSchemaGrammar } from "./json-schema/json-schema.ts";
import { structuralTagText } from "./structural-tag.ts";

interface Waiting {
  resolve(mask: Int32Array): void;
  reject(error: Error): void;
}

const nothing = new Int32Array();

/** The constraints of one engine. The thread starts with the first of them and keeps the process alive while it works. */
export class Constraints {
  readonly #vocabulary: GrammarVocabulary;
  /** Special tokens with their texts. */
  readonly #marks: readonly (readonly [id: number, text: string])[];
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #numTasks = 0;

  /** `vocabSize` is the model's, which may be more than the tokenizer's. */
  constructor(table: TokenTable, packed: PackedBytes, vocabSize: number) {
    const ids = Array.from({ length: table.vocabSize }, (_, id) => id);
    const markIds = ids.filter((id) => table.isSpecial(id));
    this.#vocabulary = { ...packed, vocabSize, eosIds: [...table.eosIds], markIds };
    this.#marks = markIds.map((id) => [id, Buffer.from(table.tokenBytes(id)).toString()]);
  }

  /**
   * Begins a text.
   *
   * @param constraint - is compiled at its first use
   * @param stopIds - end the text
   * @throws ERR_ARGUMENT for a constraint that cannot be read
   */
  async open(constraint: Constraint, stopIds: readonly number[]): Promise<FollowedText> {
    const source = this.#sourceOf(constraint);
    const text = this.#numTasks;
    await this.#ask({ kind: "open", text, source, stopIds: [...stopIds] });
    return {
      next: (ids) => this.#ask({ kind: "next", text, ids }),
      close: () => {
        if (this.#worker !== undefined) void this.#ask({ kind: "close", text }).catch(() => {});
      },
    };
  }

  #sourceOf({ jsonSchema, regex, grammar, structuralTag }: Constraint): GrammarSource {
    if (jsonSchema !== undefined) return { grammar: jsonSchemaGrammar(jsonSchema) };
    if (structuralTag === undefined) return regex === undefined ? { grammar } : { regex };
    const text = structuralTagText(structuralTag);
    const marks = this.#marks.filter(([, mark]) => text.includes(JSON.stringify(mark).slice(1, -1)));
    return { structuralTag: text, spelledIds: marks.map(([id]) => id) };
  }

  /** Ends the thread; texts are not followed any more. */
  async close(): Promise<void> {
    const worker = this.#worker;
    worker?.ref();
    this.#end(new SeekError("ERR_ABORTED", "constraint: the engine was closed"));
    await worker?.terminate();
  }

  #ask(task: GrammarTask): Promise<Int32Array> {
    this.#worker ??= this.#start();
    const worker = this.#worker;
    const number = this.#numTasks++;
    worker.ref();
    worker.postMessage({ number, task });
    return new Promise((resolve, reject) => this.#waiting.set(number, { resolve, reject }));
  }

  #start(): Worker {
    const worker = new Worker(new URL("grammar-thread.js", import.meta.url), {
      workerData: this.#vocabulary,
    });
    worker.on("message", ({ task, mask, failure }: GrammarReply) => {
      const waiting = this.#waiting.get(task);
      this.#waiting.delete(task);
      // One that is being ended must be seen to its end.
      if (this.#waiting.size === 0 && this.#worker === worker) worker.unref();
      if (failure === undefined) waiting?.resolve(mask ?? nothing);
      else waiting?.reject(new SeekError(failure.code, failure.message));
    });
    worker.on("error", ({ message }) => this.#end(new SeekError("ERR_INTERNAL", `constraint: ${message}`)));
    return worker;
  }

  #end(error: SeekError): void {
    this.#worker = undefined;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
