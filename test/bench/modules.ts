/** The comparison's modules, which are plain JavaScript, with the types that tests need. */
import { importScript } from "../project.ts";

/** A number that both sides print. */
export interface Figure {
  readonly name: string;
  readonly ours: readonly string[];
  readonly peers: readonly (readonly string[])[];
  readonly better: "more" | "less";
}

/** One of our benches beside its peer. */
export interface Pair {
  readonly name: string;
  readonly needs: readonly string[];
  readonly ours: { readonly bench: string; readonly args?: readonly string[] };
  readonly peer: {
    readonly name: string;
    readonly program?: string;
    readonly args?: readonly string[];
    readonly variants?: readonly { readonly name?: string; readonly args?: readonly string[] }[];
  };
  readonly full?: readonly string[] | undefined;
  readonly quick?: readonly string[] | undefined;
  readonly same?: readonly string[];
  readonly figures: readonly Figure[];
}

/** What each side printed in a round. */
export interface Round {
  readonly ours: object;
  readonly peer: object;
}

/** What came of a pair. */
export interface Measured {
  readonly rounds: readonly Round[];
  readonly variant?: string | undefined;
  readonly ratios: readonly (readonly number[])[];
}

/** Starts a program and gives what it printed. */
export type Run = (
  program: string,
  args: readonly string[],
  options?: { readonly cwd?: string },
) => Promise<{ stdout: string }>;

interface Modules {
  pairs: { pairs: readonly Pair[]; byHand: readonly { name: string; why: string }[] };
  needs: { needs: Readonly<Record<string, { readonly after?: readonly string[] }>> };
  measure: {
    measure(pair: Pair, context: object): Promise<Measured>;
    argumentsOf(pair: Pair, side: "ours" | "peer", form: "full" | "quick"): string[];
  };
  page: {
    pageOf(all: {
      outcomes: readonly { pair: Pair; measured?: Measured; failed?: string }[];
      facts: object;
      byHand?: readonly { name: string; why: string }[];
    }): string;
  };
  setup: {
    setUp(
      names: Iterable<string>,
      options: object,
    ): Promise<{ python?: string; homes: Record<string, string>; missing: Record<string, string> }>;
  };
  held: { heldTo(isa: string): object };
  children: {
    runChild(program: string, args: readonly string[], options: object): Promise<{ stdout: string }>;
  };
  peers: {
    readChoice(args: readonly string[]): {
      rounds: number;
      form: string;
      chosen: readonly Pair[];
      command: string;
      hold?: { isa: string; env: Readonly<Record<string, string>> };
    };
    whyNot(pair: Pair, place: { form: string; missing: Record<string, string> }): string | undefined;
  };
}

/** One module of scripts/bench. */
export async function benchModule<Name extends keyof Modules>(name: Name): Promise<Modules[Name]> {
  return (await importScript(`scripts/bench/${name}.mjs`)) as Modules[Name];
}
