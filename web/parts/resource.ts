/** What is fetched for a part of the page, with what came before kept until it is there. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

/** Something that is being fetched, or was. */
interface Resource<Value> {
  /** The latest; that of the previous key until the next one's comes. */
  readonly value: Value | undefined;
  readonly error: Error | undefined;
  readonly isLoading: boolean;
  reload(): void;
}

/** How a resource is fetched. */
interface ResourceOptions {
  /** Fetched again so long after each answer, while the page is seen. @default never */
  readonly everyMs?: number | undefined;
  /** Whether the value of another key is shown meanwhile. @default true */
  readonly keeps?: boolean;
}

interface State<Value> {
  readonly key: string;
  readonly value?: Value;
  readonly error?: Error;
}

/**
 * Fetches whenever the key changes; what is under way is given up then.
 *
 * @param key - what the answer depends on
 * @param load - fetches it
 */
export function useResource<Value>(
  key: string,
  load: (signal: AbortSignal) => Promise<Value>,
  { everyMs, keeps = true }: ResourceOptions = {},
): Resource<Value> {
  const [state, setState] = useState<State<Value>>({ key: "" });
  const [turn, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const stop = new AbortController();
    latest.current(stop.signal).then(
      (value) => stop.signal.aborted || setState({ key, value }),
      (error: Error) =>
        stop.signal.aborted || setState((old) => ({ ...(keeps && old.key === key ? old : {}), key, error })),
    );
    return () => stop.abort();
  }, [key, turn, keeps]);
  const reload = useCallback(() => setTurn((count) => count + 1), []);
  useInterval(reload, everyMs);
  const isOwn = state.key === key;
  return {
    value: isOwn || keeps ? state.value : undefined,
    error: isOwn ? state.error : undefined,
    isLoading: !isOwn,
    reload,
  };
}

/** Calls again and again while the page is seen. */
export function useInterval(call: () => void, everyMs: number | undefined): void {
  useEffect(() => {
    if (everyMs === undefined) return undefined;
    const timer = setInterval(() => document.hidden || call(), everyMs);
    return () => clearInterval(timer);
  }, [call, everyMs]);
}

/** A value that changes only once it has stood still. */
export function useSettled<Value>(value: Value, afterMs = 200): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(() => value), afterMs);
    return () => clearTimeout(timer);
  }, [value, afterMs]);
  return settled;
}
