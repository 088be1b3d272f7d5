/** One message: what was written, or what a model thought, searched and said. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ChatMessage } from "../../base/chat/branches.ts";
import { type Passage, textOf } from "../../base/chat/reply.ts";
import { showCount } from "../../base/numbers.ts";
import { Icon, type IconName } from "../../parts/icons.tsx";
import { usePage } from "../../shell/context.ts";
import { ReplyView } from "./reply-view.tsx";

/** What a message needs and can do. */
interface MessageProps {
  readonly message: ChatMessage;
  /** Messages beside it, itself among them. */
  readonly beside: readonly ChatMessage[];
  readonly isWriting: boolean;
  readonly isBusy: boolean;
  readonly turn: (by: number) => void;
  readonly edit: (content: string) => void;
  readonly again: () => void;
  readonly rate: (rating: "up" | "down") => void;
  readonly show: (passage: Passage) => void;
}

/** A message with its actions. */
export function MessageView(props: MessageProps): JSX.Element {
  const { message, isWriting } = props;
  const [isEdited, setEdited] = useState(false);
  if (message.role === "user") {
    return (
      <article class="message user" aria-label="You">
        {isEdited ? (
          <EditField {...props} onDone={() => setEdited(false)} />
        ) : (
          <div class="bubble">{message.content}</div>
        )}
        <div class="message-tools">
          <Branch {...props} />
          <Tool icon="edit" label="Edit" isOff={props.isBusy} onClick={() => setEdited(true)} />
        </div>
      </article>
    );
  }
  return (
    <article class="message assistant" aria-label={message.model ?? "Assistant"} aria-busy={isWriting}>
      <p class="message-model faint">{message.model}</p>
      {message.reply ? <ReplyView reply={message.reply} isWriting={isWriting} show={props.show} /> : null}
      {message.failure ? <p class="message-failure">{message.failure}</p> : null}
      {isWriting ? null : <ReplyTools {...props} />}
    </article>
  );
}

interface ToolProps {
  readonly icon: IconName;
  readonly label: string;
  readonly isOff?: boolean;
  readonly isOn?: boolean;
  readonly onClick: () => void;
}

function Tool({ icon, label, isOff = false, isOn, onClick }: ToolProps): JSX.Element {
  return (
    <button
      type="button"
      class="button plain icon tool"
      aria-label={label}
      title={label}
      aria-pressed={isOn}
      disabled={isOff}
      onClick={onClick}
    >
      <Icon name={icon} size={14} />
    </button>
  );
}

/** Which of those beside each other is shown. */
function Branch({ message, beside, turn, isBusy }: MessageProps): JSX.Element | null {
  if (beside.length < 2) return null;
  const at = beside.findIndex(({ id }) => id === message.id);
  return (
    <span class="branch num">
      <Tool icon="back" label="Earlier version" isOff={isBusy || at === 0} onClick={() => turn(-1)} />
      {at + 1}/{beside.length}
      <Tool
        icon="next"
        label="Later version"
        isOff={isBusy || at === beside.length - 1}
        onClick={() => turn(1)}
      />
    </span>
  );
}

function ReplyTools(props: MessageProps): JSX.Element {
  const { studio } = usePage();
  const { message, again, rate, isBusy } = props;
  const { reply, rating } = message;
  // Pages that came over plain HTTP from another machine have no clipboard.
  const clipboard = navigator.clipboard as Clipboard | undefined;
  const copy = (): void => void clipboard?.writeText(reply ? textOf(reply) : "");
  return (
    <div class="message-tools">
      <Branch {...props} />
      {clipboard ? <Tool icon="copy" label="Copy" onClick={copy} /> : null}
      <Tool icon="retry" label="Reply again" isOff={isBusy} onClick={again} />
      {studio.capabilities.feedback && reply?.id !== undefined ? (
        <>
          <Tool icon="up" label="Good reply" isOn={rating === "up"} onClick={() => rate("up")} />
          <Tool icon="down" label="Bad reply" isOn={rating === "down"} onClick={() => rate("down")} />
        </>
      ) : null}
      {reply?.completionTokens === undefined ? null : (
        <span class="faint num usage">
          {showCount(reply.promptTokens ?? 0)} read
          {reply.cachedTokens ? `, ${showCount(reply.cachedTokens)} of them cached` : ""},{" "}
          {showCount(reply.completionTokens)} written
          {reply.finish === "length" ? ", cut off" : ""}
        </span>
      )}
    </div>
  );
}

function EditField({ message, edit, onDone }: MessageProps & { readonly onDone: () => void }): JSX.Element {
  const [text, setText] = useState(message.content);
  const send = (event: SubmitEvent): void => {
    event.preventDefault();
    if (text.trim() !== "") edit(text.trim());
    onDone();
  };
  return (
    <form class="edit-message" onSubmit={send}>
      <textarea
        class="input"
        rows={3}
        aria-label="Edited message"
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={({ key }) => key === "Escape" && onDone()}
      />
      <div class="message-tools">
        <button type="button" class="button" onClick={onDone}>
          Cancel
        </button>
        <button type="submit" class="button primary">
          Send
        </button>
      </div>
    </form>
  );
}
