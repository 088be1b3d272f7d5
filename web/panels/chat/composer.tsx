/** Where a message is written. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../../parts/icons.tsx";

interface ComposerProps {
  readonly isWriting: boolean;
  /** Whether it is known whom to send to; what is sent earlier waits for that. */
  readonly isReady: boolean;
  readonly say: (content: string) => void;
  readonly stop: () => void;
}

const maxHeight = 220;

/** What is typed, and sends it; what is sent before it is known to whom is held until then. */
function useMessage({ isWriting, isReady, say }: Omit<ComposerProps, "stop">) {
  const [text, setText] = useState("");
  const [isHeld, setHeld] = useState(false);
  const send = (): void => {
    if (text.trim() === "" || isWriting) return;
    setHeld(!isReady);
    if (!isReady) return;
    say(text.trim());
    setText("");
  };
  const sendHeld = useRef(send);
  sendHeld.current = send;
  useEffect(() => {
    if (isHeld && isReady) sendHeld.current();
  }, [isHeld, isReady]);
  const write = (next: string): void => {
    setHeld(false);
    setText(next);
  };
  return { text, isHeld, send, write };
}

/** A field as high as its text. */
function useGrowing(text: string) {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (field.current === null) return;
    field.current.style.height = "auto";
    field.current.style.height = `${Math.min(maxHeight, field.current.scrollHeight + 2)}px`;
  }, [text]);
  return field;
}

/** A field that grows with its text; Enter sends, Escape stops the reply. */
export function Composer({ stop, ...props }: ComposerProps): JSX.Element {
  const { isWriting } = props;
  const { text, isHeld, send, write } = useMessage(props);
  const field = useGrowing(text);
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "Escape" && isWriting) stop();
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    send();
  };
  return (
    <form class="composer" onSubmit={submit}>
      <p class="composer-note faint" role="status">
        {isHeld ? "Sent as soon as the models are known" : null}
      </p>
      <textarea
        class="input"
        rows={1}
        ref={field}
        aria-label="Message"
        placeholder="Message"
        value={text}
        onInput={({ currentTarget }) => write(currentTarget.value)}
        onKeyDown={onKey}
      />
      {isWriting ? <StopButton stop={stop} /> : <SendButton isEmpty={text.trim() === ""} isHeld={isHeld} />}
    </form>
  );
}

function StopButton({ stop }: Pick<ComposerProps, "stop">): JSX.Element {
  return (
    <button
      type="button"
      class="button icon"
      aria-label="Stop the reply"
      title="Stop (Escape)"
      onClick={stop}
    >
      <Icon name="stop" />
    </button>
  );
}

interface SendButtonProps {
  readonly isEmpty: boolean;
  readonly isHeld: boolean;
}

function SendButton({ isEmpty, isHeld }: SendButtonProps): JSX.Element {
  return (
    <button
      type="submit"
      class="button primary icon"
      aria-label="Send"
      aria-busy={isHeld}
      disabled={isEmpty || isHeld}
    >
      <Icon name="send" />
    </button>
  );
}
