/** What this process runs on, as far as it decides which packages fit. */

/** The glibc that packages are made for; scripts/pack/baseline.mjs holds them to it. */
export const leastGlibc = "2.28";

/** A platform, its C library and Node's interface to addons. */
export interface Host {
  /** For example `linux`. */
  readonly platform: string;
  /** For example `x64`. */
  readonly arch: string;
  /** Newest version of Node-API that this Node has. */
  readonly napi: number;
  /** glibc's version, for example `2.36`; undefined where the C library is another, as on Alpine. */
  glibc(): string | undefined;
}

interface ReportHeader {
  readonly header?: { readonly glibcVersionRuntime?: string };
}

/** What Node's diagnostic report names; looking at networks, which it does otherwise, may take seconds. */
function glibcVersion(): string | undefined {
  const { report } = process;
  if (report === undefined) return undefined;
  Object.assign(report, { excludeNetwork: true });
  return (report.getReport() as ReportHeader).header?.glibcVersionRuntime;
}

/** Whether a version of glibc, as it states it, is one that packages are made for. */
export function isNewGlibc(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [leastMajor = 0, leastMinor = 0] = leastGlibc.split(".").map(Number);
  return major > leastMajor || (major === leastMajor && minor >= leastMinor);
}

/** The host of this process. */
export const thisHost: Host = {
  platform: process.platform,
  arch: process.arch,
  napi: Number(process.versions.napi),
  glibc: glibcVersion,
};
