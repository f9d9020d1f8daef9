import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from 'vitest';
import vectors from '../support/signed-vectors.json';
import {
  built,
  type Drive,
  nowSeconds,
  programs,
  runnable,
  startDriver,
} from './example-programs.ts';
import { newSigningKey, signedBy, VALIDATION_TYPE } from './forged-responses.ts';
import { listen, ownFolder } from './own.ts';

/** The examples with the vectors that the service has, too: keys and hardware IDs as they are sent (1.8). */

const PRODUCT_ID = 602;
const folder = ownFolder();
const keys = { ES256: newSigningKey('ES256', 'key-1'), RS256: newSigningKey('RS256', 'key-1') };
let address: string;
let asked: Record<string, unknown>;
let claims: Record<string, unknown>;

beforeAll(async () => {
  address = await listen(async (request, response) => {
    asked = Object(await json(request));
    const key = request.url?.startsWith('/ES256/') ? keys.ES256 : keys.RS256;
    const iat = nowSeconds();
    const signed = await signedBy(key, VALIDATION_TYPE, {
      ...claims,
      aud: String(PRODUCT_ID),
      iat,
      exp: iat + 300,
      valid: true,
      message: 'License is valid',
      nonce: asked.nonce,
    });
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ valid: true, message: 'License is valid', signed }));
  });
});

// licet.mjs is licet.ts without its types, as a test of the examples shows.
for (const program of programs.filter(({ file }) => file !== 'licet.mjs')) {
  const { file, driver } = program;
  describe.skipIf(!runnable.includes(program))(`${file} with the shared vectors`, () => {
    let drive: Drive;
    beforeAll(async () => {
      drive = startDriver(await built(program), program);
    });

    it.each(vectors)(
      'an example hashes its key, and compares its hardware ID, as it sends them: $name [1.8.10, 1.8.12]',
      async ({ licenseKey, sub, hwid }) => {
        claims = { sub, hwid };
        const { state } = await drive({
          url: `${address}/${driver.alg}`,
          markFile: join(folder, `${file}-kept`),
          licenseKey,
          productId: PRODUCT_ID,
          publicKeys: keys[driver.alg].constant,
          hwid,
        });
        expect(asked).toMatchObject({ licenseKey, hwid });
        expect(state).toBe('valid');
      },
    );
  });
}
