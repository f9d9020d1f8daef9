/** @module-tag long */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from 'vitest';
import { isLong } from '../support/long.ts';
import {
  built,
  type Drive,
  programs,
  readIfThere,
  runnable,
  startDriver,
} from './example-programs.ts';
import { listen, ownFolder } from './own.ts';

/**
 * The id of the installation, which the examples draw once and send as `hwid`. A test of the signed responses shows
 * where it is if the mark file has no folder.
 */

const PRODUCT_ID = 602;
const ID = /^[0-9a-f]{32}$/;

/** The hardware IDs that were sent, by the name of the check. */
const sent = new Map<string, unknown[]>();
const folder = ownFolder();
let address: string;
let checks = 0;

/** A folder for the data of one installation. */
function newPlace(): string {
  const place = join(folder, `place-${++checks}`);
  mkdirSync(place);
  return place;
}

const idIn = (place: string): string | undefined => readIfThere(join(place, 'licet-id'))?.trim();

/** Validates with the data of a place. Returns the hardware IDs that were sent, too. */
async function checkIn(place: string, drive: Drive, hwid?: string, licenseKey = 'KEY') {
  const name = String(++checks);
  const url = `${address}/${name}`;
  const markFile = join(place, 'licet.mark');
  const ending = await drive({ url, markFile, licenseKey, productId: PRODUCT_ID, hwid });
  return { ...ending, sent: sent.get(name) ?? [] };
}

beforeAll(async () => {
  address = await listen(async (request, response) => {
    const [, name = ''] = (request.url ?? '').split('/');
    const { hwid } = JSON.parse(await text(request));
    sent.set(name, [...(sent.get(name) ?? []), hwid]);
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ valid: true, message: 'License is valid' }));
  });
});

// licet.mjs is licet.ts without its types, as a test of the examples shows.
for (const program of programs.filter(({ file }) => file !== 'licet.mjs')) {
  const { file, driver } = program;
  describe.skipIf(!runnable.includes(program))(`${file} and the id of the installation`, () => {
    let drive: Drive;
    let another: Drive;

    beforeAll(async () => {
      const builtIn = await built(program);
      drive = startDriver(builtIn, program);
      another = startDriver(builtIn, program);
    });

    it('an example draws the id at the first start, keeps it beside the mark file and sends it again', async () => {
      const place = newPlace();
      const first = await checkIn(place, drive);
      const id = idIn(place);
      expect(id).toMatch(ID);
      expect(first).toEqual({ state: 'valid', message: 'License is valid', sent: [id] });
      expect((await checkIn(place, another)).sent).toEqual([id]);
      expect(idIn(place)).toBe(id);
      expect(readdirSync(place).sort()).toEqual(['licet-id', 'licet.mark']);
      const elsewhere = newPlace();
      await checkIn(elsewhere, drive);
      expect(idIn(elsewhere)).toMatch(ID);
      expect(idIn(elsewhere)).not.toBe(id);
    });

    it('two processes of an example that start at once send the same id', async () => {
      // The faster a program is, the more rounds it takes until both start within the same moment.
      const end = Date.now() + (isLong ? 1000 : 200);
      const rounds = isLong ? 10 : driver.isSlow ? 1 : 3;
      for (let round = 0; round < rounds || Date.now() < end; round++) {
        const place = newPlace();
        const both = await Promise.all([checkIn(place, drive), checkIn(place, another)]);
        const id = idIn(place);
        expect(id).toMatch(ID);
        expect(both.map((each) => each.sent)).toEqual([[id], [id]]);
      }
    });

    it.each([
      ['nothing', ''],
      ['another text', 'nonsense'],
      ['a short id', 'a'.repeat(31)],
      ['a long id', 'a'.repeat(33)],
      ['a character that is no digit', `${'a'.repeat(31)}g`],
      ['two lines', `${'a'.repeat(32)}\n${'b'.repeat(32)}`],
      ['bytes that are no text', Buffer.from('ff'.repeat(32), 'hex')],
    ])(
      'an example reports an id file with %s in it, keeps it and asks nothing',
      async (_, text) => {
        const place = newPlace();
        const idFile = join(place, 'licet-id');
        writeFileSync(idFile, text);
        const ending = await checkIn(place, drive);
        expect(ending).toEqual({
          state: 'unreachable',
          message: `${idFile} does not hold the id of an installation. Restore the file, or delete it: then this counts as a new installation.`,
          sent: [],
        });
        expect(readFileSync(idFile)).toEqual(Buffer.from(text));
        expect(readdirSync(place)).toEqual(['licet-id']);
      },
    );

    it('an example takes an id that somebody has saved with a line end', async () => {
      const place = newPlace();
      writeFileSync(join(place, 'licet-id'), `${'0af'.repeat(10)}99\n`);
      expect((await checkIn(place, drive)).sent).toEqual([`${'0af'.repeat(10)}99`]);
    });

    it.each([
      ['read', 'licet-id'],
      ['written', 'file'],
    ])('an example reports an id that cannot be %s, and asks nothing', async (_, obstacle) => {
      const place = newPlace();
      // A folder cannot be read as a file, and a file can have no file in it.
      if (obstacle === 'file') writeFileSync(join(place, 'file'), '');
      else mkdirSync(join(place, 'licet-id'));
      const data = obstacle === 'file' ? join(place, 'file') : place;
      expect(await checkIn(data, drive)).toEqual({
        state: 'unreachable',
        message: `${join(data, 'licet-id')} cannot be read or written: it keeps the id of this installation. Check the permissions and the free space there.`,
        sent: [],
      });
      expect(readdirSync(place)).toEqual([obstacle]);
    });

    it('an example sends the hwid that its caller gives, and then draws none', async () => {
      const place = newPlace();
      expect((await checkIn(place, drive, 'my-machine-7')).sent).toEqual(['my-machine-7']);
      expect(idIn(place)).toBeUndefined();
      writeFileSync(join(place, 'licet-id'), 'nonsense');
      expect((await checkIn(place, drive, 'my-machine-7')).sent).toEqual(['my-machine-7']);
    });
  });
}

describe
  .skipIf(!runnable.some(({ file }) => file === 'Licet.java'))
  .each(programs.filter(({ file }) => file.endsWith('.java')))('$file in a plugin', (program) => {
  let drive: Drive;
  beforeAll(async () => {
    drive = startDriver(await built(program), program);
  });

  it('an example makes the data folder of a plugin that has none yet', async () => {
    const place = join(newPlace(), 'plugins', 'Mine');
    const ending = await checkIn(place, drive);
    expect(ending.sent).toEqual([idIn(place)]);
    expect(readdirSync(place).sort()).toEqual(['licet-id', 'licet.mark']);
  });

  it.each([
    '%%__MyProduct_License__%%',
    '%%MyProduct_License%%',
    ' %%__BBB_LICENSE__%% ',
    'Unable to acquire a license key automatically, please contact the creator directly.',
  ])(
    'an example asks nothing for "%s", and says that the file is to be downloaded again',
    async (key) => {
      const place = newPlace();
      expect(await checkIn(place, drive, undefined, key)).toEqual({
        state: 'refused',
        message:
          'This file has no license key: the shop has written none into it. Download the file again. If that does not help, ask the seller of the program.',
        sent: [],
      });
      expect(readdirSync(place)).toEqual([]);
    },
  );

  it.each(['%%', '50%%', 'KEY%%KEY', 'Unable'])('an example asks for the key "%s"', async (key) => {
    expect((await checkIn(newPlace(), drive, undefined, key)).sent).toHaveLength(1);
  });
});
