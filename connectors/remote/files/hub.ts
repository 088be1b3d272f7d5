/** The hub that is meant: its address, the caller's token. */
import { SeekError } from "../../../lib/base/errors.ts";

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

/** @param name - of the option or variable */
function checkedEndpoint(name: string, place: string): string {
  const protocol = URL.canParse(place) ? new URL(place).protocol : "";
  if (protocol === "https:" || protocol === "http:") return place.replace(/\/+$/, "");
  // What cannot be read may hold a password.
  const got = place.includes("@") ? "another address" : JSON.stringify(place);
  throw new SeekError("ERR_ARGUMENT", `${name}: expected https://HOST or http://HOST, got ${got}`);
}

/** What the options and the environment say. @throws ERR_ARGUMENT for an address that is none of http or https */
export function hubOf({ endpoint, token }: HubOptions = {}): Hub {
  const { HF_ENDPOINT, HF_TOKEN } = process.env;
  const checked =
    endpoint === undefined
      ? checkedEndpoint("HF_ENDPOINT", HF_ENDPOINT || defaultHub)
      : checkedEndpoint("endpoint", endpoint);
  return { endpoint: checked, token: (token ?? HF_TOKEN) || undefined };
}
