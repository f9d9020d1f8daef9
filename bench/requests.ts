import { randomBytes } from 'node:crypto';
import type { ExpectedResponse } from './load.ts';
import { addressOf, hardwareIdOf, licenseKeyOf } from './population.ts';

/** The requests of game servers, and their responses. */

/** A validation of a license by one of its servers. */
interface Asked {
  licenseKey: string;
  address: string;
  /** Undefined for a program that sends none. */
  hardwareId: string | undefined;
}

/** Fields that some programs send in addition. */
export interface Extras {
  /** With it the request goes to v2. */
  token?: string;
  /** With it the request has a nonce, and the response is signed with this key. */
  kid?: string;
}

/** The bytes of a validation as a Java program sends it. */
function toBytes(
  { licenseKey, address, hardwareId }: Asked,
  { token, kid }: Extras = {},
): Uint8Array {
  const body = JSON.stringify({
    licenseKey,
    productId: 1,
    ip: address,
    hwid: hardwareId,
    productVersion: '1.4.2',
    operatingSystem: 'Linux',
    operatingSystemVersion: '6.1.0-18-amd64',
    operatingSystemArchitecture: 'amd64',
    javaVersion: '17.0.9',
    ...(kid !== undefined && { nonce: randomBytes(16).toString('base64url'), kid }),
  });
  const head = [
    `POST /api/${token === undefined ? 'v1' : 'v2'}/validate HTTP/1.1`,
    'Host: licet.example',
    'User-Agent: Java/17.0.9',
    'Accept: */*',
    'Content-Type: application/json; utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    // As the platform sets it.
    `CF-Connecting-IP: ${address}`,
    ...(token === undefined ? [] : [`TOKEN: ${token}`]),
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/** The license key in the bytes of a validation. */
export function licenseKeyIn(request: Uint8Array): string {
  const text = Buffer.from(request).toString();
  return JSON.parse(text.slice(text.indexOf('{'))).licenseKey;
}

/** An administrator's look at a license. */
export function licenseRequest(id: number, token: string): Uint8Array {
  const head = [`GET /api/v2/licenses/${id} HTTP/1.1`, 'Host: licet.example', `TOKEN: ${token}`];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n`);
}

/** An administrator's new product. */
export function productChange(index: number, token: string): Uint8Array {
  const body = JSON.stringify({ name: `Product ${index}`, productType: 'OTHER' });
  const head = [
    'POST /api/v2/products HTTP/1.1',
    'Host: licet.example',
    `TOKEN: ${token}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/** The e-mail of a buyer. */
export const buyerOf = (index: number): string => `buyer-${index}@shop.example`;

/** A shop's new license for a buyer. */
export function licenseSale(index: number, token: string): Uint8Array {
  const body = JSON.stringify({
    productId: 1,
    licenseType: 'PERMANENT',
    customerEmail: buyerOf(index),
  });
  const head = [
    'POST /api/v2/licenses HTTP/1.1',
    'Host: licet.example',
    `TOKEN: ${token}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/** The requests of a load by their index. */
export type RequestAt = (index: number) => Uint8Array;

/** The same requests over and over, prepared before the load begins. */
function cycle(requests: readonly Uint8Array[]): RequestAt {
  const [first] = requests;
  if (!first) throw new RangeError('There is nothing to send');
  return (index) => requests[index % requests.length] ?? first;
}

const fromSlot = (id: number, slot: number): Asked => ({
  licenseKey: licenseKeyOf(id),
  address: addressOf(id, slot),
  hardwareId: hardwareIdOf(id, slot),
});

/** Validations of licenses one after the other, by their first bound server, then by the second. */
export const boundRequests = (ids: readonly number[], extras?: Extras): RequestAt =>
  cycle([1, 2].flatMap((slot) => ids.map((id) => toBytes(fromSlot(id, slot), extras))));

/** Validations of licenses one after the other, each time by another server, which is not bound yet. */
export const newServerRequests =
  (ids: readonly number[], { hasHardwareId } = { hasHardwareId: true }): RequestAt =>
  (index) => {
    const asked = fromSlot(ids[index % ids.length] ?? 1, 3 + Math.floor(index / ids.length));
    return toBytes(hasHardwareId ? asked : { ...asked, hardwareId: undefined });
  };

const unknownKey = (index: number): Asked => ({
  ...fromSlot((index % 60_000) + 1, 1),
  licenseKey: `NO-LICENSE-${String(index).padStart(9, '0')}`,
});

/** A number of keys that no license has, over and over. */
export const unknownRequests = (count: number): RequestAt =>
  cycle(Array.from({ length: count }, (_, index) => toBytes(unknownKey(index))));

/** Keys that no license has, each once. They differ from those of `unknownRequests`. */
export const neverRepeatedRequests: RequestAt = (index) => toBytes(unknownKey(100_000_000 + index));

/** The response of the bare Worker. */
export const BARE_RESPONSE: ExpectedResponse = { status: 200, body: '{"valid":true,"message":"' };

/** The response for a license with a limit of servers, up to its count of requests. */
export const validResponse = (maxServers: number): ExpectedResponse => ({
  status: 200,
  body: `{"valid":true,"message":"License is valid","hardwareLocked":true,"iPLocked":true,"expiryDate":null,"maxIPs":${maxServers},"maxHWIDs":${maxServers},"totalRequests":`,
});

/** The same, signed with a key whose kid is its algorithm. */
export function signedResponse(maxServers: number, kid: string): ExpectedResponse {
  const header = JSON.stringify({ alg: kid, kid, typ: 'licet-validation+jwt' });
  const contained = `,"signed":"${Buffer.from(header).toString('base64url')}.`;
  return { ...validResponse(maxServers), contained };
}

export const UNKNOWN_RESPONSE: ExpectedResponse = {
  status: 400,
  body: '{"valid":false,"message":"License not found or invalid"}',
};
