/** The frames of a memory stack after each action, from what a log says of the actions. */

/** What a log says of an action. */
interface LoggedAction {
  readonly kind: string;
  /** Its policy segment. */
  readonly segment: number;
  /** Frames that it removed. */
  readonly popped: number;
}

/** A frame of the stack. */
interface StackFrame {
  readonly kind: string;
  readonly segment: number;
}

/**
 * The stack after each action: a plan lies at the bottom in place of an earlier one, everything else on top, in place of
 * the frames that it removed.
 *
 * @param actions - in order
 * @returns one stack an action, the bottom first
 */
export function stacksOf(actions: readonly LoggedAction[]): StackFrame[][] {
  let stack: readonly StackFrame[] = [];
  return actions.map(({ kind, segment, popped }) => {
    const frame = { kind, segment };
    stack =
      kind === "plan"
        ? [frame, ...stack.filter((each) => each.kind !== "plan")]
        : [...stack.slice(0, Math.max(0, stack.length - popped)), frame];
    return [...stack];
  });
}
