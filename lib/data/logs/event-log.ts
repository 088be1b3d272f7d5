/** TensorBoard's event files: numbers of steps as protobuf messages in checked records, which grow with a run. */
import { Journal } from "../../base/files/journal.ts";

/** The reflected polynomial of CRC-32C (Castagnoli), which RFC 3720 specifies. */
const polynomial = 0x82f63b78;
const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1;
  return crc;
});

/**
 * The CRC-32C of some bytes.
 *
 * @example
 * assert.equal(crc32c(Buffer.from("123456789")), 0xe3069283);
 */
export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ table[(crc ^ byte) & 255]!;
  return (crc ^ 0xffffffff) >>> 0;
}

/** As records store it: a checksum of data that holds checksums would say little. */
function masked(bytes: Uint8Array): Buffer {
  const crc = crc32c(bytes);
  const stored = Buffer.alloc(4);
  stored.writeUInt32LE((((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0);
  return stored;
}

/** Length, its checksum, the data, its checksum. */
function record(data: Uint8Array): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(data.length));
  return Buffer.concat([length, masked(length), data, masked(data)]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}

/** A field that holds a text or another message. */
function lengthField(tag: number, content: Uint8Array): Buffer {
  return Buffer.concat([varint(tag * 8 + 2), varint(content.length), content]);
}

function fixed(tag: number, value: number, size: 4 | 8): Buffer {
  const bytes = Buffer.alloc(1 + size);
  bytes[0] = tag * 8 + (size === 8 ? 1 : 5);
  if (size === 8) bytes.writeDoubleLE(value, 1);
  else bytes.writeFloatLE(value, 1);
  return bytes;
}

/** Of event.proto: wall_time 1, step 2, file_version 3, summary 5. */
function event(seconds: number, step: number, content: Buffer): Buffer {
  const number = step === 0 ? [] : [Buffer.from([2 * 8]), varint(step)];
  return record(Buffer.concat([fixed(1, seconds, 8), ...number, content]));
}

/** Of summary.proto: one value 1 for each number, with tag 1 and simple_value 2. */
function summary(metrics: Readonly<Record<string, number>>): Buffer {
  const values = Object.entries(metrics).map(([name, value]) => {
    return lengthField(1, Buffer.concat([lengthField(1, Buffer.from(name)), fixed(2, value, 4)]));
  });
  return Buffer.concat(values);
}

/** The numbers of a run for TensorBoard, and for all that reads its files. */
export class EventLog {
  readonly #journal: Journal;
  readonly #now: () => number;

  private constructor(journal: Journal, now: () => number) {
    this.#journal = journal;
    this.#now = now;
  }

  /**
   * Opens an event file and drops everything after `bytes`.
   *
   * @param path - its name must hold `tfevents`
   * @param bytes - its length at the checkpoint; 0 begins anew
   * @param now - seconds since 1970, `@default` the clock
   * @returns the log, to be closed
   * @throws ERR_IO when the file system refuses; ERR_FORMAT when the file is shorter than it was at the checkpoint
   */
  static async open(
    path: string,
    bytes: number,
    now: () => number = () => Date.now() / 1000,
  ): Promise<EventLog> {
    const journal = await Journal.open(path, bytes);
    if (bytes === 0) await journal.append(event(now(), 0, lengthField(3, Buffer.from("brain.Event:2"))));
    return new EventLog(journal, now);
  }

  /** Length after all events so far. */
  get bytes(): number {
    return this.#journal.bytes;
  }

  /** Adds the numbers of a step. @throws ERR_IO */
  async append({ step = 0, ...metrics }: Readonly<Record<string, number>>): Promise<void> {
    await this.#journal.append(event(this.#now(), step, lengthField(5, summary(metrics))));
  }

  /** Waits until all events are on the disk. */
  async sync(): Promise<void> {
    await this.#journal.sync();
  }

  /** Gives the file back. */
  async close(): Promise<void> {
    await this.#journal.close();
  }
}
