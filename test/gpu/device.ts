/** Where tests that need no more of the emulator than that it is a GPU run: `bench/gpu/run.sh` has them run on a real one. */
export const gpuDevice = process.env["SEEKRL_TEST_GPU"] ?? "emulated";

/** The `skip` of a test that asks the emulator what a GPU does not tell. */
export const skipOffEmulator = gpuDevice !== "emulated" && "asks the emulator";
