/** The metadata of a GGUF file, each value checked where it is read. */
import { shownValue } from "../check-options.ts";
import { SeekError } from "../errors.ts";
import type { GgufFile } from "./gguf.ts";
import type { GgufValue } from "./gguf-cursor.ts";

/** The values whose keys begin with one prefix. */
export class GgufMetadata {
  readonly #file: GgufFile;
  readonly #prefix: string;

  /** `prefix` ends with its point. */
  constructor(file: GgufFile, prefix: string) {
    this.#file = file;
    this.#prefix = prefix;
  }

  /** The file, for those who name it in errors. */
  get path(): string {
    return this.#file.path;
  }

  /** The error of a key. */
  wrong(key: string, message: string): SeekError {
    return new SeekError("ERR_FORMAT", `${this.path}: ${this.#prefix}${key}: ${message}`);
  }

  number = (key: string): number | undefined => this.#optional(key, "number");
  text = (key: string): string | undefined => this.#optional(key, "string");
  flag = (key: string): boolean | undefined => this.#optional(key, "boolean");

  /** @throws ERR_FORMAT for a key that is missing, as for a value of another type */
  requireNumber(key: string): number {
    const value = this.number(key);
    if (value === undefined) throw this.wrong(key, "is missing");
    return value;
  }

  list<Value extends GgufValue>(key: string, type: "number" | "string"): readonly Value[] | undefined {
    const value = this.#file.metadata.get(this.#prefix + key);
    const other = Array.isArray(value) ? value.find((each) => typeof each !== type) : value;
    if (other === undefined) return value as readonly Value[] | undefined;
    throw this.wrong(key, `expected a list of ${type}s, got ${shownValue(other)}`);
  }

  #optional<Value extends GgufValue>(key: string, type: "number" | "boolean" | "string"): Value | undefined {
    const value = this.#file.metadata.get(this.#prefix + key);
    if (value === undefined || typeof value === type) return value as Value | undefined;
    throw this.wrong(key, `expected a ${type}, got ${shownValue(value)}`);
  }
}
