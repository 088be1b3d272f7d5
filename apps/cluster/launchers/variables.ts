/** Variables of a process as words and whole numbers, refused by name with a remedy. */
import { SeekError } from "../../../lib/base/errors.ts";
import type { Environment } from "./place.ts";

/** What a variable may be, and what to do where it is something else. */
interface Wanted {
  /** The least. @default 0 */
  readonly from?: number;
  /** The greatest. */
  readonly to?: number;
  /** Why these are the bounds: `below WORLD_SIZE`. */
  readonly because?: string;
  /** Completes the message: `set it to ...`. */
  readonly remedy: string;
}

/** The greatest port of TCP. */
export const maxPort = 65_535;

/** A variable's value; one that is empty counts as not set. */
export function variableOf(environment: Environment, name: string): string | undefined {
  return environment[name]?.trim() || undefined;
}

/** The error of a variable that is missing or wrong. */
export function variableError(
  environment: Environment,
  name: string,
  { expected, remedy }: { readonly expected: string; readonly remedy: string },
): SeekError {
  const value = variableOf(environment, name);
  const actual = value === undefined ? "nothing" : JSON.stringify(value);
  return new SeekError("ERR_ARGUMENT", `${name}: expected ${expected}, got ${actual}; ${remedy}`);
}

/**
 * A variable that must be set.
 *
 * @throws ERR_ARGUMENT
 */
export function wordOf(
  environment: Environment,
  name: string,
  how: { readonly expected: string; readonly remedy: string },
): string {
  const value = variableOf(environment, name);
  if (value === undefined) throw variableError(environment, name, how);
  return value;
}

/**
 * A variable that must be a whole number within bounds.
 *
 * @throws ERR_ARGUMENT
 */
export function wholeOf(environment: Environment, name: string, wanted: Wanted): number {
  const { from = 0, to = Number.MAX_SAFE_INTEGER, because, remedy } = wanted;
  const value = variableOf(environment, name) ?? "";
  const number = Number(value);
  if (/^\d+$/.test(value) && number >= from && number <= to) return number;
  const bounds = to === Number.MAX_SAFE_INTEGER ? `${from} on` : `${from} to ${to}`;
  const reason = because === undefined ? "" : ` (${because})`;
  throw variableError(environment, name, { expected: `a whole number from ${bounds}${reason}`, remedy });
}

/**
 * The port of MASTER_PORT.
 *
 * @param fallback - where it is not set; without one it must be
 * @throws ERR_ARGUMENT
 */
export function portOf(environment: Environment, remedy: string, fallback?: number): number {
  if (fallback !== undefined && variableOf(environment, "MASTER_PORT") === undefined) return fallback;
  return wholeOf(environment, "MASTER_PORT", { from: 1, to: maxPort, remedy });
}
