/** The hub that is meant: its address, the caller's token. */

/** How the hub is found. */
export interface HubOptions {
  /** A hub or a mirror of one. @default the environment variable HF_ENDPOINT, or https://huggingface.co */
  readonly endpoint?: string | undefined;
  /** For what is private or gated. @default the environment variable HF_TOKEN */
  readonly token?: string | undefined;
}

/** A hub. */
export interface Hub {
  /** Without a slash at its end. */
  readonly endpoint: string;
  readonly token: string | undefined;
}

const defaultHub = "https://huggingface.co";

/** What the options and the environment say. */
export function hubOf({ endpoint, token }: HubOptions = {}): Hub {
  const { HF_ENDPOINT, HF_TOKEN } = process.env;
  const place = endpoint ?? (HF_ENDPOINT || defaultHub);
  return { endpoint: place.replace(/\/+$/, ""), token: (token ?? HF_TOKEN) || undefined };
}
