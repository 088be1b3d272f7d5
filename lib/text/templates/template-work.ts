/** How much work a template may make: steps of one rendering, and the sizes of what it makes. */
import { SeekError } from "../../base/errors.ts";
import { type JinjaValue, str } from "./python-values.ts";

/** Work of one rendering, in evaluations of a node and in what they make. A message takes some hundreds. */
const maxSteps = 4_000_000;

/** What a block costs, in nodes: a loop makes its variables anew for each round. */
export const stepsOfBlock = 10;

const charactersPerStep = 32;

/** Characters that one replacement or joining may make, and the most a filter is asked to indent by. */
const maxMadeLength = 16_000_000;
const maxNumber = 10_000;

/** The refusal of a template that asks for too much. */
export function tooMuchWork(what: string): SeekError {
  return new SeekError("ERR_FORMAT", `expected less work: ${what}`);
}

/** Counts the steps of one rendering. */
export class WorkCount {
  #numSteps = 0;

  /** @throws ERR_FORMAT when there are too many */
  add(numSteps: number): void {
    this.#numSteps += numSteps;
    if (this.#numSteps <= maxSteps) return;
    throw new SeekError("ERR_FORMAT", `expected to end within ${maxSteps.toLocaleString("en-US")} steps`);
  }
}

/** What making a value costs, in steps. */
export function sizeOf(value: JinjaValue): number {
  if (value.type === "StringValue") return (value.value as string).length / charactersPerStep;
  if (value.type === "ArrayValue") return (value.value as JinjaValue[]).length;
  return 0;
}

/** Python's `str.replace`: the first `count` places, or all. @throws ERR_FORMAT for a very long result */
export function replaceText(text: string, old: string, fresh: string, count = -1): string {
  const places = old === "" ? text.length + 1 : Math.ceil(text.length / old.length);
  const numPlaces = count < 0 ? places : Math.min(count, places);
  if (numPlaces * fresh.length > maxMadeLength && text.split(old).length * fresh.length > maxMadeLength)
    throw tooMuchWork(`a replacement may make over ${maxMadeLength} characters`);
  if (count < 0) return text.replaceAll(old, () => fresh);
  const parts = old === "" ? [...text] : text.split(old);
  if (old === "")
    return [...parts.slice(0, count).map((part) => fresh + part), ...parts.slice(count)].join("");
  return [parts.slice(0, count + 1).join(fresh), ...parts.slice(count + 1)].join(old);
}

/** Refuses a filter's arguments that would make a very long text. @throws ERR_FORMAT */
export function checkNumbers(filter: string, args: readonly JinjaValue[]): void {
  const number = args.find(({ value }) => typeof value === "number" && value > maxNumber);
  if (number !== undefined) throw tooMuchWork(`${filter} by ${number.value}, over ${maxNumber}`);
}

/** @throws ERR_FORMAT when joining by the longest of these would make a very long text */
export function checkJoin(operand: JinjaValue, args: readonly JinjaValue[]): void {
  const lengths = args.map((arg) => (arg.type === "StringValue" ? (arg.value as string).length : 0));
  const numPlaces =
    operand.type === "ArrayValue" ? (operand.value as unknown[]).length : str(operand).length + 1;
  if (numPlaces * Math.max(0, ...lengths) > maxMadeLength)
    throw tooMuchWork(`join may make over ${maxMadeLength} characters`);
}
