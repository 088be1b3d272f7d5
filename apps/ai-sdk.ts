/** `seekrl/ai-sdk`: served models for the AI SDK, in the same process. */

export { type SeekrlProvider, type SeekrlProviderOptions, seekrlProvider } from "./serve/ai-sdk/provider.ts";
