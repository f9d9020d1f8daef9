import { LicetError } from '@licet/client';
import { MINUTE_MS } from '@licet/contract/durations';
import { change } from '../../db/change.ts';
import { toBase64url } from '../../lib/base64url.ts';
import { DomainError } from '../../lib/errors.ts';
import { sha256Hex } from '../../lib/sha256.ts';
import type { Caller } from './tool.ts';

/**
 * Confirmations of changes (12). A code is `<expiry>.<random>.<HMAC>`, in milliseconds since 1970 and base64url. It is
 * bound to the token, the tool and the input, and with these to the object and its ETag. It is stored once it is used,
 * beside the keys of repeated POSTs: these last longer than a code.
 */

const CODE_LIFE_MS = 10 * MINUTE_MS;

const CODE = /^(\d{13})\.([\w-]{16})\.([\w-]{43})$/;

const WRONG = new LicetError(
  409,
  'confirmation is not for this call: it is older than ten minutes, or of another token, tool or input. Call the tool without it to get a new one',
  { code: 'CONFLICT', field: 'confirmation' },
);
const USED = new LicetError(
  409,
  'confirmation was used before. Read the object again, and call the tool without confirmation to get a new one',
  { code: 'CONFLICT', field: 'confirmation' },
);
const NO_KEY = new LicetError(
  403,
  'The service has no ROOT_TOKEN of at least 32 characters, which confirmations need. Its operator must set it',
  { code: 'FORBIDDEN' },
);

/** The call that a code confirms. */
interface Confirmed {
  tool: string;
  /** The checked input, whose fields are in the order of the schema. */
  input: unknown;
}

const encoder = new TextEncoder();

function keyOf({ rootToken }: Caller): Promise<CryptoKey> {
  if (rootToken === undefined) throw NO_KEY;
  return crypto.subtle.importKey(
    'raw',
    encoder.encode(rootToken),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['sign', 'verify'],
  );
}

/** The signed text. Its prefix keeps it apart from any other use of ROOT_TOKEN as a key. */
const signedText = (claim: string, { tokenId }: Caller, { tool, input }: Confirmed) =>
  encoder.encode(`licet mcp confirmation ${JSON.stringify([claim, tokenId, tool, input])}`);

interface NewCode {
  code: string;
  expiresAt: string;
}

/** @param now milliseconds since 1970 */
export async function newCode(caller: Caller, call: Confirmed, now: number): Promise<NewCode> {
  const expiry = now + CODE_LIFE_MS;
  const claim = `${expiry}.${toBase64url(crypto.getRandomValues(new Uint8Array(12)))}`;
  const mac = await crypto.subtle.sign(
    'HMAC',
    await keyOf(caller),
    signedText(claim, caller, call),
  );
  return {
    code: `${claim}.${toBase64url(new Uint8Array(mac))}`,
    expiresAt: new Date(expiry).toISOString(),
  };
}

/**
 * Checks a code, and marks it as used. Of concurrent calls with one code, one succeeds.
 *
 * @param now milliseconds since 1970
 * @throws LicetError unless the code is right and was never used
 */
export async function useCode(
  code: string,
  caller: Caller,
  call: Confirmed,
  now: number,
): Promise<void> {
  const [, expiry = '', random = '', mac = ''] = CODE.exec(code) ?? [];
  const isRight = await crypto.subtle.verify(
    'HMAC',
    await keyOf(caller),
    Uint8Array.fromBase64(mac, { alphabet: 'base64url' }),
    signedText(`${expiry}.${random}`, caller, call),
  );
  if (!isRight || Number(expiry) <= now) throw WRONG;
  const sender = caller.newSender();
  // Not of the code: several texts are the same HMAC in base64url.
  const hash = await sha256Hex(`licet mcp confirmation ${expiry}.${random}`);
  const key = { tokenId: caller.tokenId ?? 0, keyHash: hash, requestHash: hash, now };
  await change(
    { ...sender, key },
    { event: null, statements: {}, creates: null, errors: { unique: USED } },
  ).catch((error) => {
    // The token may have been revoked a moment ago.
    if (!(error instanceof DomainError)) throw error;
    throw new LicetError(401, error.message, { code: 'UNAUTHORIZED' });
  });
}
