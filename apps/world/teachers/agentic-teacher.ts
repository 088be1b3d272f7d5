/** The teacher of agents with a memory stack: it plans, looks things up in two volumes, takes back what led nowhere, sums up. */

import type { Dice } from "../../../lib/base/random.ts";
import type { TitledText } from "../../../lib/text/observation.ts";
import type { WorldPassage } from "../story/passages.ts";
import type { WorldQuestion } from "../story/questions.ts";
import { otherVolume, standsIn, type Volume, volumes } from "../story/volumes.ts";
import { queryFor, statementOf } from "../story/wording.ts";
import {
  conclude,
  type DemonstrationSegment,
  type DemonstrationWorld,
  type Habits,
  recalledChains,
  type Step,
  Thought,
} from "./teacher.ts";

/** The words around a memory-stack agent's turns that are not its own. */
export interface MemorySpeech {
  readonly prompt: (question: string) => string;
  readonly observation: (query: string, documents: readonly TitledText[]) => string;
}

/** What the teacher does about its memory. */
export interface MemoryHabits {
  /** The share of searches in the wrong volume that it takes back; after the others it answers from memory. */
  readonly backtracks: number;
  /** The share of the moments for a summary in which it writes one. */
  readonly summarises: number;
}

/** The habits of the demonstrations: tidy habits seven times in ten, so that there is something to learn. */
export const kMemoryHabits: MemoryHabits = { backtracks: 0.7, summarises: 0.7 };

/** A teacher that never goes on without what it was looking for, and always tidies up. */
export const kTidyHabits: MemoryHabits = { backtracks: 1, summarises: 1 };

/** A segment of a conversation in which things are forgotten. */
export interface MemorySegment extends DemonstrationSegment {
  /** How many of the segments that were in sight stay so once this one is written; it follows them. @default all */
  readonly keeps?: number;
}

/** How the teacher works. */
interface MemoryDemonstrateOptions {
  /** Passages per query. */
  readonly topK: number;
  readonly habits: Habits;
  readonly memoryHabits: MemoryHabits;
  readonly speech: MemorySpeech;
}

/** Finished searches in sight after which a summary is due. */
const kSearchesToSumUp = 2;

/** Writes the whole demonstration for one question, one query at a time. */
export function demonstrateMemory(
  dice: Dice,
  world: DemonstrationWorld,
  asked: WorldQuestion,
  options: MemoryDemonstrateOptions,
): MemorySegment[] {
  const { habits, speech, memoryHabits } = options;
  const chains = recalledChains(dice, world, asked, habits);
  const paper = new Paper(speech.prompt(asked.question));
  paper.act("plan", planOf(chains));
  const steps = chains.flat();
  let unsummed: Step[] = [];
  const thought = new Thought();
  let searched = 0;
  for (const [i, step] of steps.entries()) {
    let recalled = step.recalled;
    if (!recalled) {
      paper.act("reasoning", `${thought.end()} I will search.`);
      const found = lookUpIn(dice, world, step, paper, options);
      searched += found ? 1 : 0;
      recalled = !found;
    }
    thought.say({ ...step, recalled });
    unsummed.push(step);
    if (searched >= kSearchesToSumUp && i < steps.length - 1 && dice.chance(memoryHabits.summarises)) {
      paper.sumUp(unsummed.map((each) => ` ${statementOf(each)}`).join(""));
      thought.end();
      [searched, unsummed] = [0, []];
    }
  }
  const { remark, answer } = conclude(chains);
  paper.act("reasoning", `${thought.end()}${remark}`);
  paper.act("answer", ` ${answer}`);
  return paper.end();
}

// A later query is about what the one before will find.
function planOf(chains: readonly (readonly Step[])[]): string {
  const parts = chains.map((chain) => {
    return chain.map((step, depth) => queryFor(depth === 0 ? step : { ...step, entity: "it" })).join(", ");
  });
  return ` ${parts.join("; ")}`;
}

/** Searches one volume, and the other when the first has nothing; false when the teacher gives up instead. */
function lookUpIn(
  dice: Dice,
  world: DemonstrationWorld,
  step: Step,
  paper: Paper,
  { topK, speech, memoryHabits }: MemoryDemonstrateOptions,
): boolean {
  const query = queryFor(step);
  for (let volume = dice.pick(volumes); ; volume = otherVolume(volume)) {
    const hits = lookInto(world, { query, volume, topK });
    paper.search(` [${volume}] ${query}`, speech.observation(query, hits));
    if (hits.some(({ title }) => title === step.entity)) return true;
    if (!dice.chance(memoryHabits.backtracks)) return false;
    paper.takeBack(` Little is known of ${step.entity} in [${volume}].`);
  }
}

interface VolumeQuery {
  readonly query: string;
  readonly volume: Volume;
  readonly topK: number;
}

function lookInto({ library }: DemonstrationWorld, { query, volume, topK }: VolumeQuery): WorldPassage[] {
  // As deep as `withVolumes` looks.
  return library
    .search(query, topK * 8)
    .filter((passage) => standsIn(passage, { volume, query }))
    .slice(0, topK);
}

/** The conversation so far, and which of its segments are in sight. */
class Paper {
  readonly #segments: MemorySegment[] = [];
  /** Segments in sight below the frame of each action. */
  readonly #frames: { readonly isKept: boolean; readonly below: number }[] = [];
  #inSight = 1;
  #isFreshLine = true;

  constructor(prompt: string) {
    this.#segments.push({ kind: "prompt", text: prompt });
  }

  act(tag: string, content: string): void {
    this.#frames.push({ isKept: tag === "plan", below: this.#inSight });
    this.#write(tag, content);
    this.#inSight += 1;
  }

  search(content: string, observation: string): void {
    this.act("search", content);
    this.#segments.push({ kind: "observation", text: observation });
    this.#inSight += 1;
    this.#isFreshLine = true;
  }

  /** Takes the last action out of sight. */
  takeBack(content: string): void {
    this.#replace("backtrack", content, this.#frames.pop()!.below);
  }

  /** Takes everything above the plan and the last summary out of sight. */
  sumUp(content: string): void {
    let below = this.#inSight;
    while (this.#frames.length > 0 && !this.#frames.at(-1)!.isKept) below = this.#frames.pop()!.below;
    this.#replace("summary", content, below);
  }

  end(): MemorySegment[] {
    const last = this.#segments.pop()!;
    return [...this.#segments, { ...last, text: `${last.text}<|end|>` }];
  }

  #replace(tag: string, content: string, keeps: number): void {
    this.#write(tag, content, keeps);
    this.#frames.push({ isKept: tag === "summary", below: keeps });
    this.#inSight = keeps + 1;
  }

  #write(tag: string, content: string, keeps?: number): void {
    const text = `${this.#isFreshLine ? "" : "\n"}<${tag}>${content} </${tag}>`;
    this.#segments.push({ kind: "policy", text, keeps });
    this.#isFreshLine = false;
  }
}

/**
 * What a conversation in which things are forgotten looks like to the one who writes it: a row for each time that
 * something is taken out of sight, and one more. What the policy wrote in an earlier row is context in a later one, so it
 * stands there as prompt and each of its words is trained once.
 *
 * @param segments - the whole conversation
 * @returns rows for `seekrl sft`
 */
export function visibleRows(segments: readonly MemorySegment[]): DemonstrationSegment[][] {
  const rows: DemonstrationSegment[][] = [];
  let inSight: DemonstrationSegment[] = [];
  let row: DemonstrationSegment[] = [];
  for (const { kind, text, keeps } of segments) {
    row.push({ kind, text });
    if (keeps === undefined) {
      inSight.push({ kind, text });
      continue;
    }
    rows.push(row);
    inSight = [...inSight.slice(0, keeps), { kind, text }];
    row = inSight.map((segment) => ({ ...segment, kind: "prompt" }));
  }
  return [...rows, row];
}
