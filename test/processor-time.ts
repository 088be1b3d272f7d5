/** Processor time, which bounds on work are held against: other processes do not count. */

/** What some work takes of this process, milliseconds. */
export function processorMs(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
