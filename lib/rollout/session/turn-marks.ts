/** What a chat template writes between the model's words and the next message, so that an observation can be a message. */
import { SeekError } from "../../base/errors.ts";
import type { PromptTemplate, TextCodec } from "../seams.ts";

/** The marks around a user's message in the middle of a conversation. */
interface TurnMarks {
  /** From the end of the model's words to the beginning of the message. */
  readonly before: string;
  /** From the end of the message to the beginning of the model's words. */
  readonly after: string;
}

/** An observation as it is appended. */
interface EncodedTurn {
  readonly tokens: Int32Array;
  readonly text: string;
}

/** A template's marks never change, and rendering it is slow. */
const known = new WeakMap<PromptTemplate, TurnMarks>();

/** Words that no template writes by itself. */
const [question, reply, message] = ["qzquestionqz", "qzreplyqz", "qzmessageqz"];

/**
 * Reads the marks off a template, by rendering a conversation of three messages.
 *
 * @param template - of the model
 * @returns the marks
 * @throws ERR_FORMAT when the template leaves a message out
 * @example
 * const render = (messages) => `${messages.map(({ role, content }) => `<${role}>${content}</>`).join("")}<assistant>`;
 * assert.deepEqual(turnMarksOf({ render }), { before: "</><user>", after: "</><assistant>" });
 */
export function turnMarksOf(template: PromptTemplate): TurnMarks {
  const marks = known.get(template) ?? readMarks(template);
  known.set(template, marks);
  return marks;
}

function readMarks(template: PromptTemplate): TurnMarks {
  const messages = [
    { role: "user", content: question },
    { role: "assistant", content: reply },
    { role: "user", content: message },
  ];
  const text = template.render(messages, { addGenerationPrompt: true });
  const [said, asked] = [text.indexOf(reply), text.indexOf(message)];
  if (said < 0 || asked < said) {
    throw new SeekError(
      "ERR_FORMAT",
      "chat template: expected the model's words, then the next message, in order",
    );
  }
  return { before: text.slice(said + reply.length, asked), after: text.slice(asked + message.length) };
}

/**
 * The ids of an observation. Only the marks are read as special tokens; when the model has ended its turn by itself,
 * its end-of-turn token is not written again.
 *
 * @param tokenizer - of the model
 * @param text - the observation, other people's text
 * @param around - marks, and the model's last id
 * @returns ids and their text
 */
export function encodeTurn(
  tokenizer: TextCodec,
  text: string,
  { marks, lastId }: { readonly marks: TurnMarks | undefined; readonly lastId: number | undefined },
): EncodedTurn {
  const body = tokenizer.encode(text, { parseSpecialTokens: false });
  if (marks === undefined) return { tokens: body, text };
  const whole = tokenizer.encode(marks.before);
  const isEnded = whole.length > 0 && whole[0] === lastId;
  const before = isEnded ? whole.subarray(1) : whole;
  const after = tokenizer.encode(marks.after);
  const opening = isEnded ? marks.before.slice(tokenizer.decode(whole.subarray(0, 1)).length) : marks.before;
  return {
    tokens: Int32Array.from([...before, ...body, ...after]),
    text: `${opening}${text}${marks.after}`,
  };
}
