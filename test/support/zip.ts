import { crc32, deflateRawSync } from 'node:zlib';

/** An entry of a zip that is written byte by byte, so that it can lie. */
export interface ZipEntry {
  name: string | Buffer;
  data: Buffer;
  /** 0: stored. 8: deflated, the default. */
  method?: number;
  flags?: number;
  /** What the headers say instead of the truth. */
  size?: number;
  crc?: number;
  /** Unix mode, for links. */
  mode?: number;
}

export function zipOf(entries: readonly ZipEntry[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const {
    name,
    data,
    method = 8,
    flags = 0,
    size = data.length,
    crc = crc32(data),
    mode = 0o100_644,
  } of entries) {
    const packed = method === 8 ? deflateRawSync(data) : data;
    const path = typeof name === 'string' ? Buffer.from(name) : name;
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(flags, 2);
    common.writeUInt16LE(method, 4);
    common.writeUInt32LE(crc >>> 0, 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(size, 18);
    common.writeUInt16LE(path.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, path, packed]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE((mode << 16) >>> 0, 6);
    tail.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02'), Buffer.from([20, 3]), common, tail, path]));
    parts.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, central, Buffer.from('PK\x05\x06'), end]);
}
