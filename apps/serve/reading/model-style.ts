/** How one model converses: what its prompts are made of, what its replies are held to, and how they are read. */
import type { Constraint } from "../../../lib/engine/constraint/constraint.ts";
import type { ChatTemplate } from "../../../lib/text/templates/chat-template.ts";
import type { ReplyRequest } from "../reply/reply.ts";
import { replyConstraint } from "./grammars/reply-constraint.ts";
import { marksOf, type ReplyFormat, replyFormatNamed } from "./reply-format.ts";
import { type BegunPart, ReplyReader } from "./reply-reader.ts";
import { withMark } from "./templates/continued.ts";
import { type Conversation, messagesFor } from "./templates/messages.ts";
import { type TemplateFacts, templateFacts } from "./templates/template-facts.ts";

/** What of a request says how it is conversed. */
export type Asked = Pick<
  ReplyRequest,
  "messages" | "continuesLast" | "tools" | "toolChoice" | "parallelToolCalls" | "constraint"
>;

/** A model's template and the format of its replies; made once for a model. */
export class ModelStyle {
  /** What the template makes of conversations, and the format of replies. */
  readonly facts: TemplateFacts;

  /**
   * @param template - of the model
   * @param format - by name. @default what the template's source shows
   * @throws ERR_ARGUMENT for an unknown name
   */
  constructor(template: Pick<ChatTemplate, "render" | "sourceWithTools">, format?: string) {
    this.facts = templateFacts(template, format === undefined ? undefined : replyFormatNamed(format));
  }

  /** Texts that have to stay in the text of a reply, also where they are special tokens. */
  get marks(): readonly string[] {
    return marksOf(this.facts.format);
  }

  /**
   * What the template is rendered with; tools that must not be called are not shown, and a last message that goes on has a mark.
   *
   * @throws ERR_ARGUMENT for calls among the messages that are none
   */
  conversation({
    messages,
    continuesLast,
    ...asked
  }: Pick<Asked, "messages" | "continuesLast" | "tools" | "toolChoice">): Conversation {
    return messagesFor(this.facts, continuesLast ? withMark(messages) : messages, callable(asked));
  }

  /**
   * What a reply is held to.
   *
   * @param prompt - as it was rendered
   * @returns nothing where the model is free
   * @throws ERR_ARGUMENT for a function that there is not, and for a strict one whose schema cannot be held to
   */
  constraint(asked: Asked, prompt: string): Constraint | undefined {
    const { format, maxCalls, knowsReasoning: reasons } = this.facts;
    const isOne = asked.toolChoice === "required" && maxCalls === 1;
    return replyConstraint(format, {
      functions: callable(asked),
      choice: asked.toolChoice,
      isParallel: asked.parallelToolCalls && !isOne,
      constraint: asked.constraint,
      ...{ prompt, reasons, within: withinOf(format, asked) },
    });
  }

  /** A reader of one choice of the reply. @param prompt - as it was rendered */
  reader<Token>(asked: Omit<Asked, "constraint" | "parallelToolCalls">, prompt: string): ReplyReader<Token> {
    const { format } = this.facts;
    return new ReplyReader(format, { functions: callable(asked), prompt, within: withinOf(format, asked) });
  }
}

function callable({ tools, toolChoice }: Pick<Asked, "tools" | "toolChoice">): ReplyRequest["tools"] {
  return toolChoice === "none" ? [] : tools;
}

/** The part of a reply that a message which goes on has begun: thoughts that are not closed, or what it says. */
function withinOf(
  { reasoning }: ReplyFormat,
  { messages, continuesLast }: Pick<Asked, "messages" | "continuesLast">,
): BegunPart | undefined {
  if (continuesLast !== true) return undefined;
  const said = String(messages.at(-1)?.content ?? "");
  return said.lastIndexOf(reasoning.begin) > said.lastIndexOf(reasoning.end) ? "reasoning" : "text";
}
