/** What a chat template itself writes around the messages. */
import type { LintSubject } from "./subject.ts";

// Of Unicode's private use: no template and no message has them.
const [userText, modelText] = ["\u{F5E0}", "\u{F5E1}"];
const spelled = /<[|｜][^<>\n]{1,40}[|｜]>|<\/?s>|\[\/?INST\]|<(?:start|end)_of_turn>/g;

/** The text of a conversation in which nobody says anything; undefined without a template that writes it. */
function renderedFrame({ parts }: Pick<LintSubject, "parts">): string | undefined {
  if (parts.chatTemplate === undefined || parts.format.isBare) return undefined;
  const messages = [
    { role: "user", content: userText },
    { role: "assistant", content: modelText },
  ];
  try {
    return parts.chatTemplate.render(messages, { addGenerationPrompt: false });
  } catch {
    // The check of the template says what it refuses.
    return undefined;
  }
}

/**
 * The mark with which a template closes the model's turn.
 *
 * @param subject - its template
 * @returns undefined without a template, or when it closes turns with nothing
 */
export function renderedEnd(subject: Pick<LintSubject, "parts">): string | undefined {
  const frame = renderedFrame(subject);
  const at = frame?.lastIndexOf(modelText) ?? -1;
  if (frame === undefined || at < 0) return undefined;
  const [mark] = frame.slice(at).match(spelled) ?? [];
  return mark;
}

/**
 * All marks that a template writes, such as `<|im_start|>`.
 *
 * @param subject - its template
 * @returns each once
 */
export function renderedMarks(subject: Pick<LintSubject, "parts">): string[] {
  return [...new Set(renderedFrame(subject)?.match(spelled) ?? [])];
}
