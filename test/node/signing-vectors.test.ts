import { execFileSync } from 'node:child_process';
import { createHash, createPublicKey } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type EcPublicKey, Licet, type RsaPublicKey } from '@licet/client';
import { compactVerify, importJWK } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { ownFolder } from './own.ts';
import { sharedService } from './shared-service.ts';

/** Signatures of the service, as `npm start` runs it, verified by other implementations. */

const folder = ownFolder();

const openssl = (...args: string[]): string =>
  execFileSync('openssl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/** An ECDSA signature as openssl takes it: two integers in DER. */
function toDer(signature: Buffer): Buffer {
  const integers = [signature.subarray(0, 32), signature.subarray(32)].map((part) => {
    const firstByte = part.findIndex((byte) => byte !== 0);
    const bytes = part.subarray(Math.max(firstByte, 0));
    const positive = (bytes[0] ?? 0) >= 128 ? Buffer.concat([Buffer.of(0), bytes]) : bytes;
    return Buffer.concat([Buffer.of(2, positive.length), positive]);
  });
  const content = Buffer.concat(integers);
  return Buffer.concat([Buffer.of(0x30, content.length), content]);
}

describe.each(['ES256', 'RS256'] as const)('a response signed with %s', (alg) => {
  let jws: string;
  let publicKey: EcPublicKey | RsaPublicKey;
  beforeAll(async () => {
    const url = await sharedService();
    const licet = new Licet({ url });
    const key = (await licet.signingKeys()).keys.find((each) => each.alg === alg);
    if (!key) throw new Error(`The service has no key of ${alg}`);
    publicKey = key;
    const { kid } = key;
    const request = { licenseKey: 'Häuschen "1"', productId: 1, nonce: 'n'.repeat(22), kid };
    jws = (await licet.validate({ ...request, hwid: 'Häuschen "1"' })).signed ?? '';
  });

  it('a signed response is verified by jose', async () => {
    const key = await importJWK({ ...publicKey }, alg);
    const { payload, protectedHeader } = await compactVerify(jws, key);
    expect(JSON.parse(Buffer.from(payload).toString())).toMatchObject({
      ...{ iss: 'licet', aud: '1', valid: false, hwid: 'Häuschen "1"' },
      sub: createHash('sha256').update('HÄUSCHEN "1"').digest('base64url'),
    });
    expect(protectedHeader).toEqual({ alg, kid: publicKey.kid, typ: 'licet-validation+jwt' });
  });

  it('a signed response is verified by openssl, and no other text is', () => {
    const [header, claims, signature = ''] = jws.split('.');
    const bytes = Buffer.from(signature, 'base64url');
    const pem = createPublicKey({ key: { ...publicKey }, format: 'jwk' });
    const keyFile = join(folder, 'public.pem');
    const signatureFile = join(folder, 'signature');
    const textFile = join(folder, 'text');
    writeFileSync(keyFile, pem.export({ type: 'spki', format: 'pem' }));
    writeFileSync(signatureFile, alg === 'ES256' ? toDer(bytes) : bytes);
    const verify = (text: string) => {
      writeFileSync(textFile, text);
      const files = ['-verify', keyFile, '-signature', signatureFile, textFile];
      return openssl('dgst', '-sha256', ...files);
    };
    expect(verify(`${header}.${claims}`)).toContain('Verified OK');
    expect(() => verify(`${header}.${claims}x`)).toThrow();
  });
});
