/** Hardware IDs that many machines share (7). Programs in the field send them: they bind as any other. */

/** The users for whose Linux servers version 1.0.3 of the Java wrapper always sends the same value. */
const USERS: ReadonlyMap<string, string> = new Map([
  ['22a5a71ebb6bfc6cb2df491f975be0f0', 'root'],
  ['73d6340433d67ba2533045cc1b81328d', 'container'],
  ['574986f390d9c0d036ef1ae6ae9b7531', 'minecraft'],
  ['882c6bb506d3ef9146c8dc45aa174fc5', 'ubuntu'],
  ['b4ebd271dd8864c3e43bd668a3d771f0', 'pterodactyl'],
  ['72718516c8d00d92b99812f32b66f09c', 'user'],
]);

/** Values of firmware that no maker has filled in, and addresses of systems without one. */
const PLACEHOLDERS: ReadonlySet<string> = new Set([
  'to be filled by o.e.m',
  'to be filled by oem',
  'default string',
  'system serial number',
  'chassis serial number',
  'base board serial number',
  'system manufacturer',
  'system product name',
  'system version',
  'o.e.m',
  'oem',
  'invalid',
  'not applicable',
  'not specified',
  'not available',
  'no asset tag',
  'empty',
  'to be filled',
  '123456789',
  '1234567890',
  '0123456789',
  '03000200-0400-0500-0006-000700080009',
  '00020003-0004-0005-0006-000700080009',
  '12345678-1234-5678-90ab-cddeefaabbcc',
  '02:00:00:00:00:00',
  '9774d56d682e549c',
]);

/** Results of a failed look-up, and names of objects in the place of their text. */
const FAILED: ReadonlySet<string> = new Set([
  'unknown',
  'none',
  'undefined',
  'null',
  'nan',
  'nil',
  'n/a',
  'na',
  'error',
  'false',
  'true',
  'failed',
  'hwid',
  'default',
  'default-hwid',
  'default_hwid',
  'unknown-hwid',
  'unknown_hwid',
  'hwid-unknown',
  'unknown-unknown',
  'none-none',
  'no-hwid',
  'test',
  'localhost',
  'system.byte[]',
  'system.string',
  'system.object',
  '[object object]',
  '[object promise]',
  '[object undefined]',
]);

/** Hashes of an empty text: MD5, also as a UUID of Java, SHA-1, SHA-256, SHA-384 and SHA-512; three in base64. */
const HASHES_OF_NOTHING: ReadonlySet<string> = new Set([
  'd41d8cd98f00b204e9800998ecf8427e',
  'd41d8cd98f003204a9800998ecf8427e',
  'da39a3ee5e6b4b0d3255bfef95601890afd80709',
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da274edebfe76f65fbd51ad2f14898b95b',
  'cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e',
  '1b2m2y8asgtpgamy7phcfg==',
  '2jmj7l5rsw0yvb/vlwaykk/ybwk=',
  '47deqpj8hbsa+/timw+5jceuqerkm5nmpjwzg3hsufu=',
]);

/** One digit again and again, as of an empty serial number or address: `0000-0000`, `FF:FF:FF:FF:FF:FF`. */
const ONE_DIGIT = /^([0fx])\1*$/;
/** Java's name of an object: `[B@1b6d3586`, `java.lang.Object@6d06d69c`. */
const JAVA_OBJECT = /^(?:\[[a-z]|[a-z][\w.$]*)@[0-9a-f]{1,8}$/;

/**
 * The reason why many machines send a hardware ID: the rest of the sentence "Many machines share it: …". Undefined if it
 * is not known to be shared.
 */
export function sharedHwid(hwid: string): string | undefined {
  const text = hwid.trim().toLowerCase();
  const user = USERS.get(text);
  if (user) return `an old Java wrapper sends it from each Linux server of the user ${user}`;
  const digits = text.replace(/[\s:_.{}-]/g, '');
  if (HASHES_OF_NOTHING.has(digits)) return 'it is the hash of an empty text';
  const bare = text.replace(/\.$/, '');
  if (PLACEHOLDERS.has(bare) || ONE_DIGIT.test(digits))
    return 'it is a placeholder of the firmware';
  if (FAILED.has(bare) || JAVA_OBJECT.test(text))
    return 'programs send it when their look-up fails';
  return undefined;
}
