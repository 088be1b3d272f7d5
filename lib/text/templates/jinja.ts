/** Jinja templates as transformers renders them: parsed with its settings, in its sandbox, within a time. */
import { Environment, parse, tokenize } from "@huggingface/jinja";
import { SeekError } from "../../base/errors.ts";
import { withinTime } from "../within-time.ts";
import { type Node, PythonInterpreter } from "./python-interpreter.ts";
import { str } from "./python-values.ts";
import { tooMuchWork } from "./template-work.ts";

/** Numbers of one range, as in Python's sandbox, which transformers renders in. */
const maxRange = 100_000;

/** Time of parsing, and of rendering, which takes less than 1 ms a message: against what costs more than its steps. */
const maxMs = 1500;
const maxMsPerMessage = 5;

/** A parsed template. */
export interface JinjaTemplate {
  /**
   * @throws Error with the template's own message, or with what went wrong in it; ERR_FORMAT when it does not come to an
   *   end, or asks for a very long range
   */
  render(variables: Readonly<Record<string, unknown>>): string;
}

function newScope(variables: Readonly<Record<string, unknown>>): Environment {
  const scope = new Environment();
  const constants = { true: true, True: true, false: false, False: false, none: null, None: null };
  const raise = (message: unknown): never => {
    throw new Error(String(message));
  };
  const range = (...bounds: number[]): number[] => {
    const [start, stop, step = 1] =
      bounds.length === 1 ? [0, bounds[0] as number] : (bounds as [number, number]);
    const count = Math.max(0, Math.ceil((stop - start) / step));
    if (count > maxRange)
      throw new SeekError("ERR_FORMAT", `range: expected at most ${maxRange} numbers, got ${count}`);
    return Array.from({ length: count }, (_, i) => start + i * step);
  };
  const all = { ...constants, raise_exception: raise, range, ...variables };
  for (const [name, value] of Object.entries(all)) scope.set(name, value);
  return scope;
}

/**
 * Parses a template with the settings of transformers: blocks take their line break and leading space with them.
 *
 * @throws Error when the template is not Jinja
 */
export function parseTemplate(source: string): JinjaTemplate {
  const program = within("parsing", maxMs, () =>
    parse(tokenize(source, { lstrip_blocks: true, trim_blocks: true })),
  ) as unknown as Node;
  return {
    render: (variables) =>
      within("rendering", renderMs(variables), () => {
        const scope = newScope(variables);
        return str(new PythonInterpreter(scope).evaluate(program, scope));
      }),
  };
}

function renderMs({ messages }: Readonly<Record<string, unknown>>): number {
  return maxMs + maxMsPerMessage * (Array.isArray(messages) ? messages.length : 0);
}

/** Runs it to the deadline. What overflows the stack or the longest string is too much work as well. */
function within<T>(what: string, timeoutMs: number, work: () => T): T {
  let result: T | undefined;
  try {
    result = withinTime(timeoutMs, work);
  } catch (cause) {
    if (cause instanceof RangeError) throw tooMuchWork(`${what}: ${cause.message}`);
    throw cause;
  }
  if (result === undefined) throw tooMuchWork(`${what} took over ${timeoutMs} ms`);
  return result;
}
