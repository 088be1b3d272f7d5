/** Lines of SFT data: written conversations, checked where they enter. */
import { SeekError } from "../../base/errors.ts";
import { lazySchema } from "../../base/on-first-use.ts";
import { readJsonRows } from "../../data/files/jsonl.ts";
import type { PromptTemplate } from "../../rollout/seams.ts";
import { messagesOf, segmentsOfMessages } from "./message-rows.ts";
import type { WrittenSegment } from "./samples.ts";

const segmentShape = lazySchema((z) =>
  z.strictObject({
    kind: z.enum(["prompt", "policy", "observation"]),
    text: z.string(),
    tokens: z.array(z.int().min(0)).optional(),
    visible: z.array(z.int().min(0)).optional(),
  }),
);

const written = lazySchema((z) =>
  z.looseObject({ id: z.string().optional(), segments: z.array(segmentShape()).min(1) }),
);
const completed = lazySchema((z) =>
  z.looseObject({ id: z.string().optional(), prompt: z.string(), completion: z.string() }),
);
const conversed = lazySchema((z) =>
  z.looseObject({
    id: z.string().optional(),
    messages: z.array(z.looseObject({ role: z.string(), content: z.string() })).min(1),
  }),
);
const alpaca = lazySchema((z) =>
  z.looseObject({
    ...{
      id: z.string().optional(),
      instruction: z.string(),
      input: z.string().optional(),
      output: z.string(),
    },
    system: z.string().optional(),
    history: z.array(z.tuple([z.string(), z.string()])).optional(),
  }),
);

/** One conversation and where it stands. */
interface ReadConversation {
  /** Of its question, where the line says so. */
  readonly id?: string;
  readonly segments: readonly WrittenSegment[];
  /** `file:line`. */
  readonly where: string;
}

/**
 * Reads conversations, one a line: `{segments: [{kind, text, tokens?}]}`, `{prompt, completion}`, `{messages: [{role,
 * content}]}`, or Alpaca's `{instruction, input?, output, system?, history?}`.
 *
 * @param path - JSON Lines, or one array
 * @param options - `chatTemplate` of the model, which messages and Alpaca's rows need
 * @throws ERR_IO; ERR_FORMAT naming file and line
 */
export async function* readDemonstrations(
  path: string,
  { chatTemplate }: { readonly chatTemplate?: PromptTemplate | undefined } = {},
): AsyncGenerator<ReadConversation> {
  for await (const { value, where } of readJsonRows(path)) {
    const segments = segmentsOf(value, chatTemplate, where);
    requireEarlier(segments, where);
    const { id } = value;
    yield { where, segments, id: typeof id === "string" ? id : undefined };
  }
}

function segmentsOf(
  value: Record<string, unknown>,
  chatTemplate: PromptTemplate | undefined,
  where: string,
): readonly WrittenSegment[] {
  const own = written().safeParse(value);
  if (own.success)
    return own.data.segments.map(({ kind, text, tokens, visible }) => ({ kind, text, tokens, visible }));
  const pair = completed().safeParse(value);
  if (pair.success) {
    const { prompt, completion } = pair.data;
    return [
      { kind: "prompt", text: prompt },
      { kind: "policy", text: completion },
    ];
  }
  const conversation = conversed().safeParse(value);
  if (conversation.success) return segmentsOfMessages(conversation.data.messages, chatTemplate, where);
  const row = alpaca().safeParse(value);
  if (row.success) return segmentsOfMessages(messagesOf(row.data), chatTemplate, where);
  const expected =
    "{segments: [{kind, text}]}, {prompt, completion}, {messages: [{role, content}]} or {instruction, output}";
  throw new SeekError(
    "ERR_FORMAT",
    `${where}: expected ${expected}, got ${JSON.stringify(value).slice(0, 80)}`,
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
interface SftSegment extends Pick<WrittenSegment, "kind" | "visible"> {
  readonly tokens: Int32Array;
}

/** What encodes texts and reads ids. */
interface StudentTokenizer {
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
    if (tokens === undefined) {
      const how = { parseSpecialTokens: kind !== "observation", beginsText: i === 0 };
      return { kind, tokens: tokenizer.encode(text, how), visible };
    }
    if (kind === "policy") requireSameText(tokens, text, { tokenizer, where: `${where}, segment ${i}` });
    return { kind, tokens: Int32Array.from(tokens), visible };
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
