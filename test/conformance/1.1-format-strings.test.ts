import { beforeAll, expect, it } from 'vitest';
import { call, create, get, historyOf, type License, validate } from '../support/client.ts';

/** Bodies that programs write with format strings, and bodies that nobody can read (decision 1.1). */

let license: License;

beforeAll(async () => {
  license = await create.license({ maxIPs: -1, maxHWIDs: -1 });
});

const digitsFrom = (zero: number, text: string | number): string =>
  String(text).replaceAll(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)));

const body = (key: string, product: string | number, rest = ''): string =>
  `{"licenseKey":"${key}","productId":${product},"hwid":"H"${rest}}`;

/** By the fault. Each is no JSON but the first ones, and is meant for the license. */
const BODIES: Record<string, (key: string, product: number) => string> = {
  'a product id as a text with Arabic digits': (key, id) => body(key, `"${digitsFrom(0x660, id)}"`),
  'a product id with Arabic digits': (key, id) => body(key, digitsFrom(0x660, id)),
  'a product id with Persian digits': (key, id) => body(key, digitsFrom(0x6f0, id)),
  'a product id with Devanagari digits': (key, id) => body(key, digitsFrom(0x966, id)),
  'a product id with digits of Adlam': (key, id) => body(key, digitsFrom(0x1e950, id)),
  'Arabic digits everywhere': (key, id) => digitsFrom(0x660, body(key, id, ',"n":[1,2.5]')),
  'a tab behind the key': (key, id) => body(`${key}\t`, id),
  'a line end behind the key': (key, id) => body(`${key}\r\n`, id),
  'a line end within the key': (key, id) => body(key.replace('-', '-\n'), id),
  'a NUL within the key': (key, id) => body(key.replace('-', '-\0'), id),
  'an escape character before the key': (key, id) => body(`\u001b${key}`, id),
  'a tab in another text': (key, id) => body(key, id, ',"osVersion":"6.1\t(Debian)"'),
  'a line end behind an escaped quote': (key, id) => body(key, id, ',"osVersion":"\\"6\n"'),
  'NULs behind the object': (key, id) => `${body(key, id)}\0\0\0\0`,
  'the rest of a buffer behind the object': (key, id) => body(key, id) + '\0'.repeat(4_000),
  'control characters behind the object': (key, id) => `${body(key, id)}\u0004\u001a`,
  'control characters between the members': (key, id) => body(key, `\u000b${id}\u0085`),
  'a backslash behind the key': (key, id) => body(`${key}\\`, id),
  'backslashes around the key': (key, id) => body(`\\${key}\\`, id),
  'escaped hyphens, as in Markdown': (key, id) => body(key.replaceAll('-', '\\-'), id),
  'a path': (key, id) => body(key, id, ',"osVersion":"C:\\Users\\x"'),
  'a path, and a tab behind the key': (key, id) => body(`${key}\t`, id, ',"osVersion":"C:\\x"'),
};

it.each(Object.entries(BODIES))(
  'a body of a format string is read as it was meant: %s [1.1.21, 1.1.22]',
  async (_, write) => {
    const text = write(license.licenseKey, license.productId);
    const { status, json } = await validate(text);
    expect(status, JSON.stringify(json)).toBe(200);
    expect((await call('POST', '/api/v2/validate', { body: text })).status).toBe(200);
  },
);

it('a body of more than 4,096 characters is read as JSON alone [1.1.21]', async () => {
  const { licenseKey, productId } = license;
  const long = `,"javaVersion":"${'x'.repeat(4_096)}"`;
  expect((await validate(body(licenseKey, productId, long))).status).toBe(200);
  expect((await validate(body(`${licenseKey}\t`, productId, long))).status).toBe(400);
});

it('a text with control characters is recorded as it was sent, but for blanks around it [1.1.21]', async () => {
  const { licenseKey, productId, id } = await create.license();
  await validate(
    `{"licenseKey":"${licenseKey}\t","productId":${productId},"hwid":"A\tB\n","osVersion":"C:\\x"}`,
  );
  expect((await get.license(id)).hwids).toEqual(['A\tB']);
  expect(await historyOf({ licenseKey }, 1)).toMatchObject([
    { licenseId: id, licenseKey, hwid: 'A\tB', operatingSystemVersion: 'C:\\x' },
  ]);
});

let addresses = 0;
async function remarksOn(text: string): Promise<string | null | undefined> {
  const ip = `198.51.100.${++addresses}`;
  const { status, json } = await validate(text, { connectingAddress: ip });
  expect(status).toBe(400);
  // Programs get what they always got.
  expect(json).toEqual({ valid: false, message: 'Body must be a JSON object' });
  const [record] = await historyOf({ ip }, 1);
  expect(record).toMatchObject({ licenseKey: null, licenseId: null });
  return record?.remarks;
}

it.each([
  ['', ''],
  ['licenseKey=', ', not: licenseKey='],
  ['[1,2]', ', not: [1,2]'],
  ['a'.repeat(70), `, not: ${'a'.repeat(64)}`],
  ['\0x', ', not: x'],
  ['{"a":1}\u0001}'.padEnd(8_000, '"'), `, not: {"a":1}\u0001}${'"'.repeat(55)}`],
])(
  'the record of a body that cannot be read has its first 64 characters: %j [1.1.23]',
  async (text, shown) => {
    expect(await remarksOn(text)).toBe(`Body must be a JSON object${shown}`);
  },
);

it.each([
  ['licenseKey=7K2M-9QX4-B3TD-WJ8R-5HVN&productId=6', 'licenseKey=…5HVN&productId=6'],
  ['{"licenseKey":"shop_77_secret",}', '{"licenseKey":"…cret",}'],
  ['{"licenseKey": "two words are it",}', '{"licenseKey": "…e it",}'],
  ["{'licenseKey':'7K2M-9QX4-B3TD-WJ8R-5HVN'}", "{'licenseKey':'…5HVN'}"],
  ['{"licenseKey":"SHORT-1",}', '{"licenseKey":"…",}'],
  ['<key>7K2M-9QX4-B3TD-WJ8R-5HVN</key>', '<key>…5HVN</key>'],
  ['key 7K2M–9QX4–B3TD–WJ8R–5HVN', 'key …5HVN'],
  ['key 7K2M9QX4B3TDWJ8R5HVN', 'key …5HVN'],
  ['license_key: 7K2M 9QX4 B3TD WJ8R 5HVN', 'license_key: …5HVN'],
  ['{"license":"7K2M_9QX4_B3TD_WJ8R_5HVN",}', '{"license":"…5HVN",}'],
  ['{"licenseKey"            : "SHORT-1",}', '{"licenseKey"            : "…",}'],
  ['{"licenseKey":"_shop_77_secret",}', '{"licenseKey":"…cret",}'],
  [`${'x'.repeat(56)} 7K2M-9QX4-B3TD-WJ8R-5HVN`, `${'x'.repeat(56)} …5HVN`],
])(
  'a key in a body that cannot be read is shortened in the record: %s [1.1.24]',
  async (text, shown) => {
    expect(await remarksOn(text)).toBe(`Body must be a JSON object, not: ${shown}`);
  },
);
