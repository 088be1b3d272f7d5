/** The 256 printable characters by which byte-level BPE vocabularies write bytes (GPT-2's table). */

/** Bytes that are written as the character of the same code; the others follow from U+0100 on. */
function isPrintable(byte: number): boolean {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

const byteOfCharacter: ReadonlyMap<number, number> = (() => {
  const byteOfChar = new Map<number, number>();
  let next = 0x100;
  for (let byte = 0; byte < 256; ++byte) byteOfChar.set(isPrintable(byte) ? byte : next++, byte);
  return byteOfChar;
})();

/** The bytes a byte-level token stands for, or undefined when it holds a character outside the alphabet. */
export function bytesOfByteLevel(token: string): Uint8Array | undefined {
  const bytes = new Uint8Array(token.length);
  for (let i = 0; i < token.length; ++i) {
    const byte = byteOfCharacter.get(token.charCodeAt(i));
    if (byte === undefined) return undefined;
    bytes[i] = byte;
  }
  return bytes;
}

const charOfByte: readonly string[] = [...byteOfCharacter]
  .sort(([, a], [, b]) => a - b)
  .map(([char]) => String.fromCharCode(char));

/** The characters that stand for a text's bytes in UTF-8. */
export function writeByteLevel(text: string): string {
  return byteLevelOf(Buffer.from(text, "utf8"));
}

/** The characters that stand for bytes. */
function byteLevelOf(bytes: Uint8Array): string {
  let written = "";
  for (const byte of bytes) written += charOfByte[byte];
  return written;
}
