/** Lines of SFT data: written conversations, checked where they enter. */
import type { z } from "zod";
import { SeekError } from "../base/errors.ts";
import { lazySchema } from "../base/on-first-use.ts";
import { readJsonRows } from "../data/files/jsonl.ts";
import type { WrittenSegment } from "./samples.ts";

const segmentShape = lazySchema((z) =>
  z.strictObject({
    kind: z.enum(["prompt", "policy", "observation"]),
    text: z.string(),
    tokens: z.array(z.int().min(0)).optional(),
    visible: z.array(z.int().min(0)).optional(),
  }),
);

const rowShape = lazySchema((z) =>
  z.union([
    z.looseObject({ id: z.string().optional(), segments: z.array(segmentShape()).min(1) }),
    z.looseObject({ id: z.string().optional(), prompt: z.string(), completion: z.string() }),
  ]),
);

/** One conversation and where it stands. */
export interface ReadConversation {
  /** Of its question, where the line says so. */
  readonly id?: string;
  readonly segments: readonly WrittenSegment[];
  /** `file:line`. */
  readonly where: string;
}

/**
 * Reads conversations, one a line: `{segments: [{kind, text, tokens?}]}` or `{prompt, completion}`.
 *
 * @param path - JSON Lines
 * @throws ERR_IO; ERR_FORMAT naming file and line
 */
export async function* readDemonstrations(path: string): AsyncGenerator<ReadConversation> {
  for await (const { value, where } of readJsonRows(path)) {
    const parsed = rowShape().safeParse(value);
    if (!parsed.success) {
      const expected = "{segments: [{kind, text}]} or {prompt, completion}";
      const got = JSON.stringify(value).slice(0, 80);
      throw new SeekError("ERR_FORMAT", `${where}: expected ${expected}, got ${got}`);
    }
    const { id } = parsed.data;
    const segments = segmentsOf(parsed.data);
    requireEarlier(segments, where);
    yield { where, segments, id };
  }
}

function segmentsOf(row: z.output<ReturnType<typeof rowShape>>): WrittenSegment[] {
  if (!("segments" in row)) {
    return [
      { kind: "prompt", text: row.prompt as string },
      { kind: "policy", text: row.completion as string },
    ];
  }
  return (row.segments as z.output<ReturnType<typeof segmentShape>>[]).map(
    ({ kind, text, tokens, visible }) => ({
      ...{ kind, text },
      tokens,
      visible,
    }),
  );
}

function requireEarlier(segments: readonly WrittenSegment[], where: string): void {
  for (const [i, { visible = [] }] of segments.entries()) {
    const late = visible.find((place) => place >= i);
    if (late === undefined) continue;
    throw new SeekError("ERR_FORMAT", `${where}, segment ${i}: expected visible below ${i}, got ${late}`);
  }
}

/** A segment to train on. */
export interface SftSegment extends Pick<WrittenSegment, "kind" | "visible"> {
  readonly tokens: Int32Array;
}

/** What encodes texts and reads ids. */
export interface StudentTokenizer {
  encode(
    text: string,
    options: { readonly parseSpecialTokens: boolean; readonly beginsText: boolean },
  ): Int32Array;
  decode(ids: Iterable<number>): string;
}

/**
 * The ids of a conversation: those it has, which are the sampled ones (law 1), else its texts encoded. Passages are other
 * people's text, so a spelled-out end-of-turn mark in them stays text.
 *
 * @param conversation - its segments
 * @param tokenizer - the student's
 * @returns segments to train on
 * @throws ERR_FORMAT when its ids are not those of this tokenizer
 */
export function tokensOf({ segments, where }: ReadConversation, tokenizer: StudentTokenizer): SftSegment[] {
  return segments.map(({ kind, text, tokens, visible }, i) => {
    const seen = visible === undefined ? {} : { visible };
    if (tokens === undefined) {
      const how = { parseSpecialTokens: kind !== "observation", beginsText: i === 0 };
      return { kind, tokens: tokenizer.encode(text, how), ...seen };
    }
    if (kind === "policy") requireSameText(tokens, text, { tokenizer, where: `${where}, segment ${i}` });
    return { kind, tokens: Int32Array.from(tokens), ...seen };
  });
}

function requireSameText(
  tokens: readonly number[],
  text: string,
  { tokenizer, where }: { readonly tokenizer: StudentTokenizer; readonly where: string },
): void {
  let said: string | undefined;
  try {
    said = tokenizer.decode(tokens);
  } catch (error) {
    if (!(error instanceof SeekError)) throw error;
  }
  if (said === text) return;
  const got = said === undefined ? "ids beyond the vocabulary" : JSON.stringify(said.slice(0, 60));
  throw new SeekError(
    "ERR_FORMAT",
    `${where}: expected ids that say ${JSON.stringify(text.slice(0, 60))}, got ${got}; they are another ` +
      "tokenizer's: generate the data with --student, or take the ids out",
  );
}
