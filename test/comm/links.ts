/** Machines of their own, as far as the network goes: namespaces with addresses, joined by a switch. */
import { execFileSync, spawnSync } from "node:child_process";

const ip = (...args: string[]): string => execFileSync("ip", args, { encoding: "utf8", stdio: "pipe" });

/** Why there are no namespaces here, or false. */
export function whyNoNamespaces(): string | false {
  if (process.getuid?.() !== 0) return "network namespaces need root";
  const made = spawnSync(
    "unshare",
    ["-n", "ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth1"],
    {
      stdio: "ignore",
    },
  );
  return made.status === 0 ? false : "no ip, or a system without network namespaces or veth";
}

/** Namespaces with an address each. */
export class Machines {
  readonly names: readonly string[];
  readonly #switch: string;

  /** As many as `count`; to be closed. */
  constructor(count: number) {
    this.#switch = `seekrl-${process.pid}-switch`;
    this.names = Array.from({ length: count }, (_, i) => `seekrl-${process.pid}-${i}`);
    ip("netns", "add", this.#switch);
    ip("-n", this.#switch, "link", "add", "bridge0", "type", "bridge");
    ip("-n", this.#switch, "link", "set", "bridge0", "up");
    for (const [i, name] of this.names.entries()) this.#join(name, i);
  }

  #join(name: string, i: number): void {
    ip("netns", "add", name);
    const other = ["peer", "name", `port${i}`, "netns", this.#switch];
    ip("link", "add", "eth0", "netns", name, "type", "veth", ...other);
    ip("-n", this.#switch, "link", "set", `port${i}`, "master", "bridge0", "up");
    ip("-n", name, "addr", "add", `${this.addressOf(i)}/24`, "dev", "eth0");
    ip("-n", name, "link", "set", "lo", "up");
    ip("-n", name, "link", "set", "eth0", "up");
  }

  addressOf(i: number): string {
    return `10.77.0.${i + 1}`;
  }

  /** Pulls the cable. */
  cut(i: number): void {
    ip("-n", this.names[i]!, "link", "set", "eth0", "down");
  }

  /** Lets through so much and no more, in what leaves the machine. */
  slow(i: number, rate: string): void {
    const shape = ["root", "tbf", "rate", rate, "burst", "16kb", "latency", "2s"];
    ip("netns", "exec", this.names[i]!, "tc", "qdisc", "add", "dev", "eth0", ...shape);
  }

  [Symbol.dispose](): void {
    for (const name of [...this.names, this.#switch]) spawnSync("ip", ["netns", "del", name]);
  }
}
