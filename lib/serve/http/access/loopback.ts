/** Names and addresses of this machine that no other machine reaches. */
import { isIPv4 } from "node:net";

/** Whether a host is this machine's own: `localhost`, `127.x.x.x`, `::1`, also in brackets. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  return name === "localhost" || name === "::1" || (isIPv4(name) && name.startsWith("127."));
}
