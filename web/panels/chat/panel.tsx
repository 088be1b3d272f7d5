/** Chat with a model, an adapter or an agent. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { getModels } from "../../api/chat.ts";
import { besides, noMessages, pathOf } from "../../base/chat/branches.ts";
import type { Passage } from "../../base/chat/reply.ts";
import { Empty, Notice } from "../../parts/controls.tsx";
import { Icon } from "../../parts/icons.tsx";
import { useResource } from "../../parts/resource.ts";
import { usePage } from "../../shell/context.ts";
import { Head } from "../../shell/head.tsx";
import { Composer } from "./composer.tsx";
import { MessageView } from "./message.tsx";
import { ParameterFields } from "./parameters.tsx";
import { PassageDialog } from "./passage.tsx";
import { type Parameters, titleOf, useChats, useParameters } from "./store.ts";
import { useTalk } from "./talk.ts";

/** The panel of chats. */
export function ChatPanel(): JSX.Element {
  const { studio } = usePage();
  return studio.capabilities.serve ? <OpenChat /> : <NoModel />;
}

function NoModel(): JSX.Element {
  return (
    <>
      <Head title="Chat" />
      <Empty title="No model is served here">
        <p>The model server has this page too, with everything it serves to talk to.</p>
        <code>npx seekrl serve --model FOLDER</code>
      </Empty>
    </>
  );
}

function OpenChat(): JSX.Element {
  const { value: models = [], error, reload } = useResource("models", getModels);
  const [parameters, change] = useParameters();
  const [isOpen, setOpen] = useState(false);
  const store = useChats();
  const model = models.includes(parameters.model) ? parameters.model : (models[0] ?? "");
  return (
    <>
      <Head
        title="Chat"
        beside={<ModelChoice {...{ models, model }} onChange={(next) => change({ model: next })} />}
      >
        <ChatTools {...{ isOpen, setOpen, create: store.create }} />
      </Head>
      {error ? (
        <Notice kind="bad">
          {error.message}{" "}
          <button type="button" class="button" onClick={reload}>
            Try again
          </button>
        </Notice>
      ) : null}
      <div class={isOpen ? "chat with-parameters" : "chat"}>
        <ChatList store={store} />
        <Talk {...{ store, parameters, model }} />
        {isOpen ? <ParameterFields model={model} parameters={parameters} change={change} /> : null}
      </div>
    </>
  );
}

interface ChatToolsProps {
  /** Whether the parameters are shown. */
  readonly isOpen: boolean;
  readonly setOpen: (isOpen: boolean) => void;
  readonly create: () => void;
}

function ChatTools({ isOpen, setOpen, create }: ChatToolsProps): JSX.Element {
  return (
    <>
      <button
        type="button"
        class="button"
        aria-expanded={isOpen}
        aria-controls="parameters"
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name="sliders" size={14} /> <span class="only-wide">Parameters</span>
      </button>
      <button type="button" class="button" onClick={create}>
        <Icon name="plus" size={14} /> <span class="only-wide">New chat</span>
      </button>
    </>
  );
}

interface ModelChoiceProps {
  readonly models: readonly string[];
  readonly model: string;
  readonly onChange: (model: string) => void;
}

function ModelChoice({ models, model, onChange }: ModelChoiceProps): JSX.Element {
  return (
    <select
      aria-label="Model"
      class="select crumb-choice"
      value={model}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    >
      {models.map((id) => (
        <option key={id} value={id}>
          {id}
        </option>
      ))}
    </select>
  );
}

type Store = ReturnType<typeof useChats>;

function ChatList({ store: { chats, chat, open, remove } }: { readonly store: Store }): JSX.Element {
  return (
    <nav class="chat-list only-wide" aria-label="Chats">
      {chats.map((each) => (
        <div class="chat-link" key={each.id}>
          <button type="button" class="cut" aria-current={each.id === chat?.id} onClick={() => open(each.id)}>
            {titleOf(each)}
          </button>
          <button
            type="button"
            class="chat-remove"
            aria-label={`Delete ${titleOf(each)}`}
            onClick={() => remove(each.id)}
          >
            <Icon name="close" size={12} />
          </button>
        </div>
      ))}
    </nav>
  );
}

interface TalkProps {
  readonly store: Store;
  readonly parameters: Parameters;
  readonly model: string;
}

/** Keeps the end in sight while a reply grows, unless one has scrolled away from it. */
function useFollow(growing: unknown) {
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const onScroll = (): void => {
    const { scrollTop = 0, scrollHeight = 0, clientHeight = 0 } = box.current ?? {};
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < 60;
  };
  useEffect(() => {
    if (isAtEnd.current) box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [growing]);
  return { box, onScroll };
}

function Talk({ store, parameters, model }: TalkProps): JSX.Element {
  const branches = store.chat?.branches ?? noMessages;
  const path = pathOf(branches);
  const { chat, create, change } = store;
  const talk = useTalk({ chat, create, change, parameters, model });
  const [passage, setPassage] = useState<Passage>();
  const { box, onScroll } = useFollow(path.at(-1));
  return (
    <section class="talk" aria-label="Conversation">
      <div class="messages" ref={box} onScroll={onScroll} role="log" aria-label="Messages">
        {path.length === 0 ? (
          <Empty title={model === "" ? "Asking for the models…" : `Talk to ${model}`}>
            Enter sends, Shift and Enter begin a line.
          </Empty>
        ) : null}
        {path.map((message) => (
          <MessageView
            key={message.id}
            message={message}
            beside={besides(branches, message.parent)}
            isWriting={talk.writing === message.id}
            isBusy={talk.writing !== undefined}
            turn={(by) => talk.turn(message, by)}
            edit={(content) => talk.edit(message, content)}
            again={() => talk.again(message)}
            rate={(rating) => talk.rate(message, rating)}
            show={setPassage}
          />
        ))}
      </div>
      <Composer
        isWriting={talk.writing !== undefined}
        isReady={model !== ""}
        say={talk.say}
        stop={talk.stop}
      />
      <PassageDialog passage={passage} onClose={() => setPassage(undefined)} />
    </section>
  );
}
