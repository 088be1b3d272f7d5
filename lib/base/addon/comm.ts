/** The processes of one job: the exports of native/node/comm. */

/** One process of a job (native/comm/place.h). */
interface NativePlace {
  readonly rank: number;
  readonly size: number;
  readonly address: string;
  readonly port: number;
  readonly servesStore: boolean;
  readonly job: string;
  readonly arrivalMs: number;
  readonly patienceMs: number;
  readonly stallMs: number;
  /** Of SeekRL. */
  readonly version: string;
  /** Of the ranks in the job of which they are some, for errors; empty where they are all. */
  readonly numbers: Int32Array;
}

/** A process group; every call but `report` waits for other ranks on a thread of its own. */
export interface NativeProcessGroup {
  open(place: NativePlace): Promise<void>;
  /** One message of each rank, in their order. */
  exchange(message: Uint8Array, what: string): Promise<Uint8Array[]>;
  broadcast(message: Uint8Array, root: number, what: string): Promise<Uint8Array>;
  /** One message of each rank on the root; elsewhere those of others are empty. */
  gather(message: Uint8Array, root: number, what: string): Promise<Uint8Array[]>;
  /** What the counter was before. */
  count(name: string): Promise<number>;
  /** Tells the others why this rank cannot go on. */
  report(message: string): void;
  /** Ends what it waits for, `open` too, with ERR_ABORTED. */
  cancel(): void;
  close(): Promise<void>;
}

/** The exports of native/node/comm. */
export interface NativeComm {
  readonly ProcessGroupHandle: new () => NativeProcessGroup;
}
