import { gzipSync } from 'node:zlib';
import { type Zippable, zipSync } from 'fflate';
import { createTar } from 'nanotar';

/** Archives with the same bytes for the same files, whenever and wherever they are made. */

/** The content of files by their names, in the order in which an archive has them. */
export type Files = Readonly<Record<string, string | Uint8Array>>;

/** The first time that a zip can have, in the zone of the machine: a zip has no zone. */
const ZIP_TIME = new Date(1980, 0, 1);

const bytesOf = (content: string | Uint8Array): Uint8Array =>
  typeof content === 'string' ? new TextEncoder().encode(content) : content;

export function zip(files: Files): Uint8Array {
  const items: Zippable = {};
  for (const [name, content] of Object.entries(files)) items[name] = bytesOf(content);
  return zipSync(items, { mtime: ZIP_TIME, level: 9 });
}

/** @param folder the folder of the archive that has all the files */
export function tarGz(folder: string, files: Files): Uint8Array {
  const items = Object.entries(files).map(([name, content]) => ({
    name: `${folder}/${name}`,
    data: bytesOf(content),
  }));
  const tar = createTar(items, { attrs: { mode: '644', uid: 0, gid: 0, mtime: 0 } });
  // The format ends with two empty blocks, of which nanotar writes one.
  return gzipSync(Buffer.concat([tar, new Uint8Array(512)]), { level: 9 });
}
