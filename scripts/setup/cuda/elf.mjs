/** Reads what a shared library says of itself: what it needs, where it looks, which GPUs it has code for. */
import { closeSync, openSync, readSync } from "node:fs";

/** Of the dynamic section (System V ABI, chapter 5). */
const TAG = { needed: 1, stringTable: 5, stringSize: 10, rpath: 15, runpath: 29 };
const LOADED = 1;
const DYNAMIC = 2;

/** Opens every container of code for GPUs in the section `.nv_fatbin`, as nvcc writes it. */
const FATBIN_MAGIC = 0xba55ed50;
const FATBIN_PTX = 1;

class Elf {
  #file;

  constructor(path) {
    this.#file = openSync(path, "r");
    const header = this.bytes(0, 64);
    const isElf64 = header.length === 64 && header.toString("latin1", 0, 6) === "\x7fELF\x02\x01";
    if (!isElf64) {
      this.close();
      throw new Error(`${path}: expected a 64-bit little-endian ELF file`);
    }
    this.header = header;
  }

  close() {
    closeSync(this.#file);
  }

  bytes(offset, length) {
    const buffer = Buffer.alloc(length);
    return buffer.subarray(0, readSync(this.#file, buffer, 0, length, offset));
  }

  segments() {
    const [start, size, count] = [Number(this.header.readBigUInt64LE(32)), 56, this.header.readUInt16LE(56)];
    return Array.from({ length: count }, (_, i) => {
      const row = this.bytes(start + i * size, size);
      const number = (at) => Number(row.readBigUInt64LE(at));
      return { kind: row.readUInt32LE(0), offset: number(8), address: number(16), size: number(32) };
    });
  }

  section(name) {
    const [start, count] = [Number(this.header.readBigUInt64LE(40)), this.header.readUInt16LE(60)];
    if (start === 0) return undefined;
    const rows = Array.from({ length: count }, (_, i) => {
      const row = this.bytes(start + i * 64, 64);
      const number = (at) => Number(row.readBigUInt64LE(at));
      return { name: row.readUInt32LE(0), offset: number(24), size: number(32) };
    });
    const names = rows[this.header.readUInt16LE(62)];
    const wanted = `${name}\0`;
    return rows.find(
      (row) => this.bytes(names.offset + row.name, wanted.length).toString("latin1") === wanted,
    );
  }
}

function inElf(path, read) {
  const elf = new Elf(path);
  try {
    return read(elf);
  } finally {
    elf.close();
  }
}

/** `needed` (names) and `paths` (folders, `$ORIGIN` not yet filled in) of a shared library. */
export function dynamicOf(path) {
  return inElf(path, (elf) => {
    const segments = elf.segments();
    const dynamic = segments.find(({ kind }) => kind === DYNAMIC);
    if (dynamic === undefined) return { needed: [], paths: [] };
    const rows = elf.bytes(dynamic.offset, dynamic.size);
    const entries = [];
    for (let at = 0; at + 16 <= rows.length; at += 16)
      entries.push([Number(rows.readBigUInt64LE(at)), Number(rows.readBigUInt64LE(at + 8))]);
    const value = (tag) => entries.find(([each]) => each === tag)?.[1];
    const address = value(TAG.stringTable);
    const home = segments.find(
      (each) => each.kind === LOADED && address >= each.address && address < each.address + each.size,
    );
    const strings = elf.bytes(home.offset + address - home.address, value(TAG.stringSize));
    const text = (offset) => strings.toString("latin1", offset, strings.indexOf(0, offset));
    const all = (...tags) => entries.filter(([tag]) => tags.includes(tag)).map(([, offset]) => text(offset));
    return {
      needed: all(TAG.needed),
      paths: all(TAG.rpath, TAG.runpath).flatMap((list) => list.split(":").filter(Boolean)),
    };
  });
}

/** Compute capabilities, times ten, that a library holds machine code for, and those of its PTX. */
export function architecturesOf(path) {
  return inElf(path, (elf) => {
    const [code, ptx] = [new Set(), new Set()];
    const section = elf.section(".nv_fatbin");
    const end = section === undefined ? 0 : section.offset + section.size;
    for (let at = section?.offset ?? 0; at + 16 <= end; ) {
      const head = elf.bytes(at, 16);
      if (head.readUInt32LE(0) !== FATBIN_MAGIC) {
        at += 8; // between containers there is room for alignment
        continue;
      }
      const last = at + head.readUInt16LE(6) + Number(head.readBigUInt64LE(8));
      for (at += head.readUInt16LE(6); at + 32 <= last; ) {
        const entry = elf.bytes(at, 32);
        (entry.readUInt16LE(0) === FATBIN_PTX ? ptx : code).add(entry.readUInt32LE(28));
        at += entry.readUInt32LE(4) + Number(entry.readBigUInt64LE(8));
      }
      at = last;
    }
    const sorted = (set) => [...set].sort((a, b) => a - b);
    return { code: sorted(code), ptx: sorted(ptx) };
  });
}
