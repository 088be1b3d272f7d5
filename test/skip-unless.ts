/** Tests that need what a machine may lack: skipped there, and failing where all are to run. */

/**
 * A test's `skip`.
 *
 * @param isThere - whether the machine has what the test needs
 * @param reason - what it lacks otherwise
 * @param env - `SEEKRL_TEST_ALL=1` says that it has everything, as the workflows do; this process's unless given
 * @throws where all tests are to run and this one cannot
 */
export function skipUnless(isThere: boolean, reason: string, env = process.env): string | false {
  if (isThere) return false;
  if (env.SEEKRL_TEST_ALL === "1")
    throw new Error(`SEEKRL_TEST_ALL=1: expected every test to run: ${reason}`);
  return reason;
}
