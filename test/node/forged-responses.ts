import {
  constants,
  createHash,
  createHmac,
  generateKeyPairSync,
  type KeyObject,
  privateEncrypt,
  randomBytes,
  sign,
} from 'node:crypto';
import { SignJWT } from 'jose';

/** Signed responses of an honest service, made by `jose`, and forgeries of dishonest servers. */

export type Algorithm = 'ES256' | 'RS256';
export const VALIDATION_TYPE = 'licet-validation+jwt';
export const LEASE_TYPE = 'licet-lease+jwt';

export type Claims = Record<string, unknown>;

export interface SigningKey {
  kid: string;
  alg: Algorithm;
  publicKey: KeyObject;
  privateKey: KeyObject;
  /** The public key, in the form in which programs pin it. */
  constant: string;
}

export function newSigningKey(alg: Algorithm, kid: string, bits = 2048): SigningKey {
  const { publicKey, privateKey } =
    alg === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: bits });
  const { n, x, y } = publicKey.export({ format: 'jwk' });
  const constant = alg === 'ES256' ? `${kid}:${x}.${y}` : `${kid}:${n}`;
  return { kid, alg, publicKey, privateKey, constant };
}

/** A JWS like those of the service. */
export const signedBy = (key: SigningKey, typ: string, claims: Claims): Promise<string> =>
  new SignJWT(claims).setProtectedHeader({ alg: key.alg, kid: key.kid, typ }).sign(key.privateKey);

export interface Keys {
  /** The two keys that the program has pinned. */
  pinned: SigningKey;
  second: SigningKey;
  /** A key of the service that the program has not pinned. */
  retired: SigningKey;
  /** A key of the service with the other algorithm. */
  other: SigningKey;
  /** A key of the attacker, with the `kid` of the pinned one. */
  attacker: SigningKey;
}

export function newKeys(alg: Algorithm): Keys {
  const other = alg === 'ES256' ? 'RS256' : 'ES256';
  return {
    pinned: newSigningKey(alg, 'key-1'),
    second: newSigningKey(alg, 'key.2'),
    retired: newSigningKey(alg, 'key-0'),
    other: newSigningKey(other, 'key-9'),
    attacker: newSigningKey(alg, 'key-1'),
  };
}

const encoded = (value: object | string): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

type Signer = (signed: Buffer) => Buffer;

const signerOf =
  ({ privateKey }: SigningKey): Signer =>
  (signed) =>
    sign('sha256', signed, { key: privateKey, dsaEncoding: 'ieee-p1363' });

/** A JWS of any header and any signature. */
function jws(header: object, claims: Claims, signer: Signer): string {
  const signed = `${encoded(header)}.${encoded(claims)}`;
  return `${signed}.${signer(Buffer.from(signed)).toString('base64url')}`;
}

const headerOf = ({ alg, kid }: SigningKey, typ: string) => ({ alg, kid, typ });

/** The same with a key of any size. `jose` would reject some sizes. */
export const signedByHand: typeof signedBy = async (key, typ, claims) =>
  jws(headerOf(key, typ), claims, signerOf(key));

/** Makes the value that an attacker, or a service with a bug, sends instead of a JWS of `typ` with these claims. */
export type Forgery = (keys: Keys, typ: string, claims: Claims) => unknown;

const withClaims =
  (change: (claims: Claims) => Claims): Forgery =>
  ({ pinned }, typ, claims) =>
    signedBy(pinned, typ, { ...claims, ...change(claims) });

const withHeader =
  (change: object, signer: keyof Keys = 'pinned'): Forgery =>
  (keys, typ, claims) =>
    jws({ ...headerOf(keys.pinned, typ), ...change }, claims, signerOf(keys[signer]));

const withSignature =
  (signer: (signed: Buffer, keys: Keys) => Buffer): Forgery =>
  (keys, typ, claims) =>
    jws(headerOf(keys.pinned, typ), claims, (signed) => signer(signed, keys));

/** Changes the text of a good JWS. */
const withText =
  (change: (header: string, payload: string, signature: string) => string): Forgery =>
  async ({ pinned }, typ, claims) => {
    const [header = '', payload = '', signature = ''] = (await signedBy(pinned, typ, claims)).split(
      '.',
    );
    return change(header, payload, signature);
  };

/** Replaces the last character by the next one. Only unused bits differ: 64 and 256 bytes leave four of them. */
const withUnusedBits = (text: string): string =>
  text.slice(0, -1) + String.fromCharCode(text.charCodeAt(text.length - 1) + 1);

type Forgeries = Record<string, Forgery>;

const TEXT_FORGERIES: Forgeries = {
  nothing: () => undefined,
  null: () => null,
  true: () => true,
  'no text': () => ({ valid: true }),
  'an empty text': () => '',
  'two dots': () => '..',
  'no signature': withText((header, payload) => `${header}.${payload}.`),
  'two parts': withText((header, payload) => `${header}.${payload}`),
  'four parts': withText((...parts) => `${parts.join('.')}.`),
  'a cut signature': withText((h, p, signature) => `${h}.${p}.${signature.slice(0, -1)}`),
  'a short signature': withText((h, p, signature) => `${h}.${p}.${signature.slice(0, -4)}`),
  'a cut payload': withText((h, payload, s) => `${h}.${payload.slice(0, -1)}.${s}`),
  'garbage behind': withText((...parts) => `${parts.join('.')}AAAA`),
  padding: withText((...parts) => `${parts.join('.')}==`),
  'a line feed within the signature': withText(
    (h, p, s) => `${h}.${p}.${s.slice(0, 9)}\n${s.slice(9)}`,
  ),
  'unused bits in the signature': withText((h, p, s) => `${h}.${p}.${withUnusedBits(s)}`),
  'the alphabet of base64': async ({ pinned }, typ, claims) => {
    for (let attempt = 0; ; attempt++) {
      const token = await signedBy(pinned, typ, { ...claims, attempt });
      const [header, payload, signature = ''] = token.split('.');
      const other = signature.replaceAll('-', '+').replaceAll('_', '/');
      if (other !== signature) return `${header}.${payload}.${other}`;
    }
  },
  'a changed payload': withText((header, payload, signature) => {
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
    return `${header}.${encoded({ ...claims, ip: '203.0.113.9' })}.${signature}`;
  }),
};

const withPublicKeyAsSecret =
  (format: 'pem' | 'jwk'): Forgery =>
  ({ pinned }, typ, claims) => {
    const { publicKey } = pinned;
    const secret =
      format === 'jwk'
        ? JSON.stringify(publicKey.export({ format }))
        : publicKey.export({ format, type: 'spki' });
    return jws({ ...headerOf(pinned, typ), alg: 'HS256' }, claims, (signed) =>
      createHmac('sha256', secret).update(signed).digest(),
    );
  };

const HEADER_FORGERIES: Forgeries = {
  'alg none, without a signature': ({ pinned }, typ, claims) =>
    jws({ ...headerOf(pinned, typ), alg: 'none' }, claims, () => Buffer.alloc(0)),
  'alg none, with a signature': withHeader({ alg: 'none' }),
  'HS256 with the public key (pem) as its secret': withPublicKeyAsSecret('pem'),
  'HS256 with the public key (jwk) as its secret': withPublicKeyAsSecret('jwk'),
  'the name of the other algorithm': (keys, typ, claims) =>
    jws({ ...headerOf(keys.pinned, typ), alg: keys.other.alg }, claims, signerOf(keys.pinned)),
  'the other algorithm under the pinned kid': (keys, typ, claims) =>
    jws({ ...headerOf(keys.pinned, typ), alg: keys.other.alg }, claims, signerOf(keys.other)),
  'a signature of the other algorithm': withHeader({}, 'other'),
  'a key of the attacker under the pinned kid': withHeader({}, 'attacker'),
  'a key of the attacker in the header': ({ pinned, attacker }, typ, claims) => {
    const jwk = attacker.publicKey.export({ format: 'jwk' });
    return jws({ ...headerOf(pinned, typ), jwk }, claims, signerOf(attacker));
  },
  'a retired key': ({ retired }, typ, claims) => signedBy(retired, typ, claims),
  'a retired key under the pinned kid': withHeader({}, 'retired'),
  'the kid of a retired key': withHeader({ kid: 'key-0' }),
  'the kid of the second key': withHeader({ kid: 'key.2' }),
  'no kid': withHeader({ kid: undefined }),
  'an empty kid': withHeader({ kid: '' }),
  'the kid of another key': withHeader({ kid: 'key-3' }),
  'a typ of the same length': withHeader({ typ: 'licet-validation+jwx' }),
  'no typ': withHeader({ typ: undefined }),
  'the typ JWT': withHeader({ typ: 'JWT' }),
  'an unknown extension': withHeader({ b64: false }),
  'a critical extension': withHeader({ crit: ['b64'], b64: false }),
  'the other typ': ({ pinned }, typ, claims) =>
    signedBy(pinned, typ === LEASE_TYPE ? VALIDATION_TYPE : LEASE_TYPE, claims),
  'a signature of zeros': withSignature((_, { pinned }) =>
    Buffer.alloc(pinned.alg === 'ES256' ? 64 : 256),
  ),
};

const CLAIM_FORGERIES: Forgeries = {
  'another product': withClaims(({ aud }) => ({ aud: `${aud}1` })),
  'a product id that is a number': withClaims(({ aud }) => ({ aud: Number(aud) })),
  'no product': withClaims(() => ({ aud: undefined })),
  'another license key': withClaims(() => ({ sub: randomBytes(32).toString('base64url') })),
  'the license key itself': withClaims(() => ({ sub: 'KEY' })),
  'no license key': withClaims(() => ({ sub: undefined })),
  'another machine': withClaims(() => ({ hwid: 'f'.repeat(64) })),
  'no machine': withClaims(() => ({ hwid: null })),
  'the claims of another machine in its name': withClaims(({ hwid }) => ({
    hwid: `","hwid":"${hwid}`,
  })),
};

/** Forgeries of responses alone: a lease has no nonce, and its file may have blanks around it. */
const VALIDATION_FORGERIES: Forgeries = {
  'a blank before': withText((...parts) => ` ${parts.join('.')}`),
  'a line feed behind': withText((...parts) => `${parts.join('.')}\n`),
  'another nonce': withClaims(() => ({ nonce: randomBytes(16).toString('base64url') })),
  'a nonce that begins like it': withClaims(({ nonce }) => ({ nonce: `${nonce}A` })),
  'no nonce': withClaims(() => ({ nonce: undefined })),
  'valid as a text': withClaims(() => ({ valid: 'true' })),
  'valid as a number': withClaims(() => ({ valid: 1 })),
  'no valid': withClaims(() => ({ valid: undefined })),
  'valid within the message': withClaims(() => ({ valid: undefined, message: '"valid":true,' })),
  'a refusal that was made valid': async ({ pinned }, typ, claims) => {
    const [header, , signature] = (await signedBy(pinned, typ, { ...claims, valid: false })).split(
      '.',
    );
    return `${header}.${encoded(claims)}.${signature}`;
  },
  'a lease': ({ pinned }, _, { nonce, ...claims }) => signedBy(pinned, LEASE_TYPE, claims),
};

const APPENDED = withSignature((signed, { pinned }) =>
  Buffer.concat([signerOf(pinned)(signed), Buffer.alloc(1)]),
);

/** Signatures with an r or s of zero, or in another form. */
const ES256_FORGERIES: Forgeries = {
  'r of zero': withSignature((signed, { pinned }) =>
    Buffer.concat([Buffer.alloc(32), signerOf(pinned)(signed).subarray(32)]),
  ),
  's of zero': withSignature((signed, { pinned }) =>
    Buffer.concat([signerOf(pinned)(signed).subarray(0, 32), Buffer.alloc(32)]),
  ),
  'a signature in DER': withSignature((signed, { pinned }) =>
    sign('sha256', signed, pinned.privateKey),
  ),
  'a byte behind the signature': APPENDED,
  'a zero within the signature': withSignature((signed, { pinned }) => {
    const signature = signerOf(pinned)(signed);
    return Buffer.concat([signature.subarray(0, 32), Buffer.alloc(1), signature.subarray(32)]);
  }),
};

const SHA256_INFO = Buffer.from('3031300d060960864801650304020105000420', 'hex');

/** Signs a block of 256 bytes as it is: 0, the type, the filling, 0, and `tail`. */
const withBlock = (
  tail: (hash: Buffer) => Buffer,
  { type = 1, filling = 0xff, garbage = 0 } = {},
): Forgery =>
  withSignature((signed, { pinned }) => {
    const end = tail(createHash('sha256').update(signed).digest());
    const padding = Buffer.alloc(256 - 3 - end.length - garbage, filling);
    const parts = [Buffer.of(0, type), padding, Buffer.of(0), end, randomBytes(garbage)];
    const key = { key: pinned.privateKey, padding: constants.RSA_NO_PADDING };
    return privateEncrypt(key, Buffer.concat(parts));
  });

const infoAnd = (hash: Buffer): Buffer => Buffer.concat([SHA256_INFO, hash]);

const RS256_FORGERIES: Forgeries = {
  'a byte behind the signature': APPENDED,
  'garbage behind the hash': withBlock(infoAnd, { garbage: 194 }),
  'a byte behind the hash': withBlock(infoAnd, { garbage: 1 }),
  'no name of the hash': withBlock((hash) => hash),
  'another name of the hash': withBlock((hash) => {
    const info = Buffer.from(SHA256_INFO);
    info[14] = 3;
    return Buffer.concat([info, hash]);
  }),
  'padding of type 2': withBlock(infoAnd, { type: 2 }),
  'padding of zeros': withBlock(infoAnd, { filling: 0 }),
  'SHA-512': withSignature((signed, { pinned }) => sign('sha512', signed, pinned.privateKey)),
  PSS: withSignature((signed, { pinned }) =>
    sign('sha256', signed, {
      key: pinned.privateKey,
      padding: constants.RSA_PKCS1_PSS_PADDING,
    }),
  ),
  'a zero before the signature': withSignature((signed, { pinned }) =>
    Buffer.concat([Buffer.alloc(1), signerOf(pinned)(signed)]),
  ),
  'the signature and the modulus, added': ({ pinned }, typ, claims) => {
    const { n = '' } = pinned.publicKey.export({ format: 'jwk' });
    const modulus = BigInt(`0x${Buffer.from(n, 'base64url').toString('hex')}`);
    for (let attempt = 0; ; attempt++) {
      const token = jws(headerOf(pinned, typ), { ...claims, attempt }, signerOf(pinned));
      const [header = '', payload = '', signature = ''] = token.split('.');
      const number = BigInt(`0x${Buffer.from(signature, 'base64url').toString('hex')}`);
      const sum = (number + modulus).toString(16);
      // The sum fits into 256 bytes only if the signature is small.
      if (sum.length === 512)
        return `${header}.${payload}.${Buffer.from(sum, 'hex').toString('base64url')}`;
    }
  },
};

/** Forgeries of a response. */
export const validationForgeriesOf = (alg: Algorithm): [string, Forgery][] =>
  Object.entries({
    ...TEXT_FORGERIES,
    ...HEADER_FORGERIES,
    ...CLAIM_FORGERIES,
    ...VALIDATION_FORGERIES,
    ...(alg === 'ES256' ? ES256_FORGERIES : RS256_FORGERIES),
  });

const LEASE_FORGERIES = [
  'an empty text',
  'two parts',
  'a changed payload',
  'alg none, without a signature',
  'the other algorithm under the pinned kid',
  'a key of the attacker under the pinned kid',
  'a retired key',
  'the other typ',
  'a signature of zeros',
];

/** Forgeries of a lease: fewer, because the same code verifies both. */
export const leaseForgeries: [string, Forgery][] = [
  ...Object.entries({ ...TEXT_FORGERIES, ...HEADER_FORGERIES }).filter(([name]) =>
    LEASE_FORGERIES.includes(name),
  ),
  ...Object.entries(CLAIM_FORGERIES),
];
