/** The prompt that a model's template makes of a conversation. */
import { SeekError } from "../../../lib/base/errors.ts";
import type { Constraint } from "../../../lib/engine/constraint/constraint.ts";
import type { ChatTemplate } from "../../../lib/text/templates/chat-template.ts";
import type { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import type { Conversation } from "../reply/reply.ts";
import type { Asked, ModelStyle } from "./model-style.ts";
import { upToMark } from "./templates/continued.ts";
import { withoutOthersMarks } from "./templates/others-marks.ts";

/** A conversation to be written; what JSON holds. */
export interface AskedPrompt extends Omit<Conversation, "templateVariables"> {
  /** Of the template, those of the model included. */
  readonly variables: Readonly<Record<string, unknown>>;
  readonly addGenerationPrompt: boolean;
  /** Of a reply that may call functions: what else it is held to. */
  readonly held?: Pick<Asked, "parallelToolCalls" | "constraint"> | undefined;
}

/** What writes it. */
export interface PromptWriter {
  readonly template: ChatTemplate;
  readonly style: ModelStyle;
  readonly tokenizer: Pick<Tokenizer, "specialTokens">;
}

/**
 * Writes a prompt whose marks are the template's, for `idsOfPrompt`.
 *
 * @throws ERR_ARGUMENT and ERR_FORMAT for what the template refuses, and where it leaves out the text that is to go on
 */
export function writtenPrompt(
  { variables, addGenerationPrompt, held: _, ...conversation }: AskedPrompt,
  { template, style, tokenizer }: PromptWriter,
): string {
  const goesOn = conversation.continuesLast ?? false;
  const said = withoutOthersMarks(conversation.messages, tokenizer);
  const { messages, tools } = style.conversation({ ...conversation, messages: said });
  const prompt = template.render(messages, {
    // Templates that print the day are made for the day on which they are read.
    ...{ addGenerationPrompt: addGenerationPrompt && !goesOn, now: new Date() },
    ...(tools ? { tools } : {}),
    variables,
  });
  if (!goesOn) return prompt;
  const begun = upToMark(prompt);
  if (begun !== undefined) return begun;
  const why = "the chat template does not write the text of the last message";
  throw new SeekError("ERR_ARGUMENT", `${why}, so that it cannot go on`);
}

/**
 * What a reply that may call functions is held to, whose schemas become grammars.
 *
 * @param prompt - as it was written, or its end
 * @returns nothing where the model is free, and where no such reply is asked for
 * @throws ERR_ARGUMENT for a function that there is not, and for a strict one whose schema cannot be held to
 */
export function heldReply(
  { held, ...asked }: AskedPrompt,
  { style }: Pick<PromptWriter, "style">,
  prompt: string,
): Constraint | undefined {
  return held === undefined ? undefined : style.constraint({ ...asked, ...held }, prompt);
}
