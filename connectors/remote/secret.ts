/** Keys of remote services: from the environment, or given; never shown. */
import type { OptionKinds } from "../../lib/base/check-options.ts";
import { SeekError } from "../../lib/base/errors.ts";

/** Where a key comes from. */
export interface KeyOptions {
  /** The key itself; it wins over the environment. */
  readonly apiKey?: string | undefined;
  /** The environment variable that holds it. */
  readonly apiKeyEnv?: string | undefined;
}

/** What every holder of a key takes. */
export const keyKinds: OptionKinds<KeyOptions> = { apiKey: "string", apiKeyEnv: "string" };

/**
 * The key of a service that does without one too.
 *
 * @returns undefined when neither a key nor a variable was named
 * @throws ERR_ARGUMENT when a variable was named that is not set
 */
export function optionalKey({ apiKey, apiKeyEnv }: KeyOptions): string | undefined {
  if (apiKey !== undefined || apiKeyEnv === undefined) return apiKey;
  const key = process.env[apiKeyEnv];
  if (key) return key;
  throw new SeekError(
    "ERR_ARGUMENT",
    `${apiKeyEnv}: expected an API key in this environment variable, got none`,
  );
}

/** A key as a header and as a text that error messages leave out. */
export function bearer(key: string | undefined): { headers: Record<string, string>; secrets: string[] } {
  if (key === undefined) return { headers: {}, secrets: [] };
  return { headers: { authorization: `Bearer ${key}` }, secrets: [key] };
}
