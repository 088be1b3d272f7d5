/** A turn ends with the token that completes a stop string, neither sooner nor later. */
import { type Conversations, conversationsOf } from "../../conversations.ts";
import { type Finding, quote, skipped, verdict } from "../../finding.ts";
import type { LintSubject } from "../../subject.ts";

const subject = { check: "stop strings end a turn where they are complete" };
const probeTokens = 24;

/** Looks at the turns that were run, and stops one that the model likes to write in its middle. */
export async function checkStopStrings(all: Conversations): Promise<Finding> {
  const { tokenizer } = all.subject;
  const problems = conversationsOf(all).flatMap(({ name, calls }) =>
    calls.flatMap(({ ids, stop, request }, turn) => {
      const text = tokenizer.decode(ids);
      const before = tokenizer.decode(ids.subarray(0, -1));
      const early = request.stop.find((each) => before.includes(each));
      const isComplete = request.stop.some((each) => text.includes(each));
      if (early !== undefined) return [`${name}, turn ${turn + 1}: goes on after ${early}`];
      if ((stop === "stop") === isComplete) return [];
      return [
        `${name}, turn ${turn + 1}: ends with "${stop}" ${isComplete ? "at" : "without"} a stop string`,
      ];
    }),
  );
  const probe = await probeStop(all);
  if (probe === undefined && problems.length === 0) {
    return skipped(subject, "the model writes no readable text that could be stopped");
  }
  return verdict(subject, [...problems, ...(probe?.problems ?? [])], probe?.seen ?? "");
}

/** What the model writes, and the same with a stop string taken from its middle. */
async function probeStop({ subject: linted, free }: Conversations) {
  const { tokenizer } = linted;
  const prompt = free.calls[0]?.context ?? new Int32Array();
  const whole = await say(linted, prompt, []);
  const wanted = stopIn(whole.ids, tokenizer.decode.bind(tokenizer));
  if (wanted === undefined) return undefined;
  const { stop, length } = wanted;
  const cut = await say(linted, prompt, [stop]);
  const seen = `${quote(stop)} ended a turn at token ${cut.ids.length}, expected ${length}`;
  const isRight = cut.stop === "stop" && cut.ids.length === length;
  return { seen, problems: isRight ? [] : [`${seen} ("${cut.stop}")`] };
}

async function say({ parts }: LintSubject, prompt: Int32Array, stop: readonly string[]) {
  const sequence = await parts.engine.open(prompt, { seed: 1 });
  try {
    return await sequence.generate({ maxTokens: probeTokens, temperature: 1, stop });
  } finally {
    await sequence.close();
  }
}

/** A text over two tokens, and how many tokens complete it for the first time. */
function stopIn(ids: Int32Array, decode: (ids: Int32Array) => string) {
  for (let at = Math.min(4, ids.length); at + 2 <= ids.length; at += 1) {
    const stop = decode(ids.subarray(at, at + 2));
    if (stop.length < 2 || !/^[\x20-\x7e]+$/.test(stop)) continue;
    const length = ids.findIndex((_, i) => decode(ids.subarray(0, i + 1)).includes(stop)) + 1;
    return { stop, length };
  }
  return undefined;
}
