/** Trajectories from decoded texts, for trainers that only send those. */
import type { Question } from "../data/question.ts";
import { r1SearcherTags } from "../rollout/formats/r1-searcher.ts";
import { blocksOf, firstBlock, type Tags, tagsOf } from "../rollout/grammars/blocks.ts";
import type { Segment, Trajectory } from "../rollout/trajectory.ts";
import { normalizeAnswer } from "../text/words/normalize.ts";

/** Whose tags stand around what was found. */
export type TextFamily = "rag" | "research" | "r1-searcher" | "agentic";

const observationTags: Readonly<Record<TextFamily, Tags>> = {
  rag: tagsOf("information"),
  research: tagsOf("result"),
  agentic: tagsOf("observation"),
  "r1-searcher": { open: r1SearcherTags.documents, close: r1SearcherTags.documentsEnd },
};

/** Where the model's turn begins: ChatML, Llama 3, a base prompt. */
const turnMarks = [
  /<\|im_start\|>assistant\n?/,
  /<\|start_header_id\|>assistant<\|end_header_id\|>\s*/,
  /\bAssistant:[ ]?/,
];
/** Around the question in the prompt. */
const questionMarks: readonly Tags[] = [
  { open: "Question:", close: "\n" },
  { open: "Question:\n", close: "\n" },
  { open: "<query>", close: "</query>" },
  { open: "<|im_start|>user\n", close: "<|im_end|>" },
  { open: "<|start_header_id|>user<|end_header_id|>", close: "<|eot_id|>" },
  { open: "User:", close: "Assistant:" },
];

/**
 * A decoded conversation as a trajectory: what stands in the tags of observations is taken for the environment's words,
 * for a text does not tell who wrote them. Token ids are unknown and left out.
 *
 * @param text - prompt and response, decoded
 * @param family - whose tags
 * @returns segments, searches counted by observations, and the stop reason `answer` where an answer was closed
 * @example
 * const { rounds } = trajectoryOfText("Assistant:<search> q </search><information>x</information>", "rag");
 * assert.equal(rounds, 1);
 */
export function trajectoryOfText(text: string, family: TextFamily): Trajectory {
  const begin = responseStart(text, family);
  const segments = [
    segment("prompt", text.slice(0, begin)),
    ...cut(text.slice(begin), observationTags[family]),
  ];
  const answer = segments.findLast(({ kind, text }) => kind === "policy" && text.includes("</answer>"));
  return {
    ...{ id: "text", questionId: "text", segments, queries: [], invalidActions: 0, failures: 0 },
    turns: segments.filter(({ kind }) => kind === "policy").length,
    stop: answer === undefined ? "length" : "answer",
    answer: answer && (firstBlock(answer.text, tagsOf("answer"))?.content ?? ""),
    rounds: segments.filter(({ kind }) => kind === "observation").length,
    timings: { generateMs: 0, searchMs: 0, totalMs: 0 },
    weightsVersion: 0,
  };
}

function responseStart(text: string, family: TextFamily): number {
  const mark = turnMarks.map((each) => each.exec(text)).find((match) => match !== null);
  const begin = mark ? mark.index + mark[0].length : 0;
  // R1-Searcher's prompt begins the thought.
  const thought = family === "r1-searcher" ? /^\s*<think>/.exec(text.slice(begin)) : null;
  return begin + (thought?.[0].length ?? 0);
}

function cut(text: string, tags: Tags): Segment[] {
  const segments: Segment[] = [];
  let from = 0;
  for (let block = firstBlock(text, tags); block; block = firstBlock(text, tags, from)) {
    segments.push(segment("policy", text.slice(from, block.start)));
    segments.push(segment("observation", text.slice(block.start, block.end)));
    from = block.end;
  }
  return [...segments, segment("policy", text.slice(from))];
}

function segment(kind: Segment["kind"], text: string): Segment {
  return { kind, text, tokens: new Int32Array() };
}

/**
 * Finds the question that a decoded conversation is about.
 *
 * @param questions - all that are known
 * @returns a function from texts to questions; undefined for a text about none of them
 */
export function questionFinder(questions: readonly Question[]): (text: string) => Question | undefined {
  const known = new Map(questions.map((question) => [normalizeAnswer(question.question), question]));
  return (text) => {
    for (const mark of questionMarks) {
      for (const found of blocksOf(`${text}\n`, mark)) {
        const question = known.get(normalizeAnswer(found));
        if (question !== undefined) return question;
      }
    }
    return undefined;
  };
}
