/** Asks for the server's key, once a request was refused for want of it. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { onKeyWanted, storeKey } from "../api/http.ts";

/** A dialog that opens by itself; `onKey` is called with each key that was given. */
export function KeyDialog({ onKey }: { readonly onKey: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(
    () =>
      onKeyWanted(() => {
        if (dialog.current?.open === false) dialog.current.showModal();
      }),
    [],
  );
  const take = (event: SubmitEvent): void => {
    event.preventDefault();
    const given = new FormData(event.target as HTMLFormElement).get("key");
    storeKey(String(given ?? "").trim());
    dialog.current?.close();
    onKey();
  };
  return (
    <dialog class="dialog" ref={dialog} aria-labelledby="key-title">
      <form onSubmit={take}>
        <h2 id="key-title">This studio asks for its key</h2>
        <p class="muted">It is kept until this tab is closed, and sent to this server alone.</p>
        <label class="sr-only" for="key">
          Key
        </label>
        <input id="key" name="key" class="input" type="password" autocomplete="off" required />
        <div class="actions">
          <button type="button" class="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" class="button primary">
            Continue
          </button>
        </div>
      </form>
    </dialog>
  );
}
