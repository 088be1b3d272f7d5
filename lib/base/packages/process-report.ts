/** Node's diagnostic report of this process, without its look at networks, which may take seconds. */
import process from "node:process";

/** The parts that are read here. */
interface ProcessReport {
  readonly header?: { readonly glibcVersionRuntime?: string };
  /** Paths of all machine code in the process, whichever thread loaded it. */
  readonly sharedObjects?: readonly string[];
}

/** The report; empty in programs that run JavaScript and make none. */
export function processReport(): ProcessReport {
  const report: (NodeJS.ProcessReport & { excludeNetwork?: boolean }) | undefined = process.report;
  if (report === undefined) return {};
  const { excludeNetwork = false } = report;
  try {
    report.excludeNetwork = true;
    return report.getReport() as ProcessReport;
  } finally {
    // The process's own reports are not ours to shorten.
    report.excludeNetwork = excludeNetwork;
  }
}
