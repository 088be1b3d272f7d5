/** Stops and resumes a run. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { RunDetail } from "../../../apps/studio/api.ts";
import { resumeRun, stopRun } from "../../api/studio.ts";
import { Icon } from "../../parts/icons.tsx";

interface RunControlProps {
  readonly run: RunDetail;
  readonly onDone: () => void;
}

/** Tells the server what to do with a run, and what came of it. */
function useSend({ run, onDone }: RunControlProps) {
  const [said, setSaid] = useState("");
  const [isBusy, setBusy] = useState(false);
  const send = (call: (id: string) => Promise<{ done: string; pid: number }>): void => {
    setBusy(true);
    call(run.id)
      .then(
        ({ done, pid }) =>
          setSaid(done === "started" ? `started as process ${pid}` : "stops after this step"),
        ({ message }: Error) => setSaid(message),
      )
      .finally(() => {
        setBusy(false);
        onDone();
      });
  };
  return { said, isBusy, send };
}

/** The one button that the run's state allows; stopping is asked twice. */
export function RunControl({ run, onDone }: RunControlProps): JSX.Element {
  const { said, isBusy, send } = useSend({ run, onDone });
  const [isAsked, setAsked] = useState(false);
  const stop = (): void => {
    setAsked(false);
    send(stopRun);
  };
  return (
    <>
      <span class="muted control-said" role="status">
        {said}
      </span>
      {run.state === "live" ? (
        <StopButton {...{ isAsked, isBusy, whyNot: run.whyNotStop, ask: setAsked, stop }} />
      ) : null}
      {run.state === "stopped" ? (
        <button
          type="button"
          class="button primary"
          disabled={isBusy || run.whyNotResume !== null}
          title={run.whyNotResume ?? run.command ?? undefined}
          onClick={() => send(resumeRun)}
        >
          <Icon name="play" size={14} /> Resume
        </button>
      ) : null}
    </>
  );
}

interface StopButtonProps {
  readonly isAsked: boolean;
  readonly isBusy: boolean;
  readonly whyNot: string | null;
  readonly ask: (isAsked: boolean) => void;
  readonly stop: () => void;
}

function StopButton({ isAsked, isBusy, whyNot, ask, stop }: StopButtonProps): JSX.Element {
  if (isAsked) {
    return (
      <>
        <button type="button" class="button" onClick={() => ask(false)}>
          Go on
        </button>
        <button type="button" class="button primary" onClick={stop}>
          Stop it
        </button>
      </>
    );
  }
  return (
    <button
      type="button"
      class="button"
      disabled={isBusy || whyNot !== null}
      title={whyNot ?? "A checkpoint is written; it can be resumed"}
      onClick={() => ask(true)}
    >
      <Icon name="stop" size={14} /> Stop
    </button>
  );
}
